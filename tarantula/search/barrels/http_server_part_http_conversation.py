"""One connection to a server: a request, its answer, and again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from math import inf
from typing import cast

from tarantula.search.barrels.http_server_part_http_request import JSON_TYPE, HttpError, RequestHead, parse_head

IDLE_TIMEOUT_SECONDS = 60.0
"""Seconds for which a connection may rest."""
TRANSFER_TIMEOUT_SECONDS = 10.0
"""Seconds for the body of a request, and for whoever asked to take the answer."""
LINGER_SECONDS = 1.0
"""Seconds for which the rest of a request is read that was refused: who is cut off while it writes may not see why."""

HttpAnswer = tuple[HTTPStatus, bytes]
AnswerFunction = Callable[[RequestHead, bytes], Awaitable[HttpAnswer]]
"""Answers the body of a request, whatever happens."""


class ServerConnection(asyncio.Protocol):
    """Reads requests one after the other, and sends what they are answered with."""

    def __init__(
        self,
        ask: AnswerFunction,
        on_open: Callable[[ServerConnection], None],
        on_close: Callable[[ServerConnection], None],
    ) -> None:
        self.deadline = inf
        """When the other side has to have done what it is waited for."""
        self.is_last = False
        """Whether it ends behind the answer that is under way, or at once."""
        self._ask = ask
        self._on_open, self._on_close = on_open, on_close
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._head: RequestHead | None = None
        self._answering: asyncio.Task[None] | None = None
        self._is_refused = self._is_full = self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self._transport = cast("asyncio.Transport", transport)
        # Whoever does not take an answer is asked for no further request.
        self._transport.set_write_buffer_limits(0)
        self._wait_for(IDLE_TIMEOUT_SECONDS)
        self._on_open(self)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request, or several."""
        if self._is_refused:
            return
        self._received += data
        if self._is_busy:
            self._transport.pause_reading()
            self._is_paused = True
        else:
            self._go_on()

    def pause_writing(self) -> None:
        """The answer is not taken at once."""
        self._is_full = True
        self._wait_for(TRANSFER_TIMEOUT_SECONDS)

    def resume_writing(self) -> None:
        """It was taken."""
        self._is_full = False
        if self._answering is None:
            self._rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more, or says that nothing more will come: what is under way is of no use."""
        if self._answering is not None:
            self._answering.cancel()
        self._on_close(self)

    def refuse(self, error: HttpError) -> None:
        """Say why there is no answer, and end."""
        self._is_refused = True
        self._send(*error_answer(error))
        self._wait_for(LINGER_SECONDS)

    def close(self) -> None:
        """End, behind the answer that is under way."""
        self.is_last = True
        if not self._is_busy:
            self._transport.close()

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    @property
    def _is_busy(self) -> bool:
        return self._answering is not None or self._is_full

    def _go_on(self) -> None:
        """Begin to answer, if there is a whole request."""
        try:
            body = self._next()
        except HttpError as error:
            self.refuse(error)
            return
        if self._head is not None and body is not None:
            self.deadline = inf
            self._answering = self._loop.create_task(self._answer(self._head, body))
            self._head = None

    def _next(self) -> bytes | None:
        """Return the body of a request, if all of it is there."""
        if self._head is None:
            read = parse_head(self._received)
            if read is None:
                return None
            self._head, self._received = read
            self._wait_for(TRANSFER_TIMEOUT_SECONDS)
        length = self._head.length
        if len(self._received) < length:
            return None
        body, self._received = self._received[:length], self._received[length:]
        return body

    async def _answer(self, head: RequestHead, body: bytes) -> None:
        answer = await self._ask(head, body)
        self.is_last = self.is_last or head.is_last
        self._send(*answer)
        self._answering = None
        if self.is_last:
            self._wait_for(TRANSFER_TIMEOUT_SECONDS)
            self._transport.close()
        elif not self._is_full:
            self._rest()

    def _rest(self) -> None:
        """Wait for the next request, unless it is there."""
        self._wait_for(IDLE_TIMEOUT_SECONDS)
        if self._is_paused:
            self._transport.resume_reading()
            self._is_paused = False
        if self._received:
            self._go_on()

    def _send(self, status: HTTPStatus, body: bytes) -> None:
        connection = "close" if self.is_last or self._is_refused else "keep-alive"
        lines = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"Content-Type: {JSON_TYPE}",
            f"Content-Length: {len(body)}",
            f"Connection: {connection}",
        )
        self._transport.write("\r\n".join((*lines, "", "")).encode() + body)

    def _wait_for(self, seconds: float) -> None:
        self.deadline = self._loop.time() + seconds


def error_answer(error: HttpError) -> HttpAnswer:
    """Return an answer that is none."""
    return error.status, json.dumps({"error": str(error)}, ensure_ascii=False).encode()
