"""A small HTTP server for programs that ask one another in JSON: everything has a limit, in bytes and in seconds."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

from tarantula.search.http_request import JSON, LARGEST_HEAD, NoAnswer, Request, read_body, read_head

IDLE = 60.0
"""Seconds for which a connection may rest."""
PATIENCE = 10.0
"""Seconds for the body of a request, and for whoever asked to take the answer."""
LINGER = 1.0
"""Seconds for which the rest of a request is read that was refused."""
MOST_CONNECTIONS = 500
GRACE = 2.0
"""Seconds for what is under way when the server ends."""

logger = logging.getLogger(__name__)

Handler = Callable[[bytes], Awaitable[bytes]]
"""Makes a body of JSON of another, or says why not with `NoAnswer`."""
Routes = Mapping[str, tuple[str, Handler]]
"""By path: the method, and what answers."""


class Server:
    """Answers requests until it is told to end."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self._open: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[None]] = set()
        self._is_ending = False

    async def run(self, taken: socket.socket, ending: asyncio.Event) -> None:
        """Serve on a socket until *ending*; then let what is under way come to its end, for a moment."""
        server = await asyncio.start_server(self._welcome, sock=taken, limit=LARGEST_HEAD)
        await ending.wait()
        server.close()
        self._is_ending = True
        if self._busy:
            await asyncio.wait(self._busy, timeout=GRACE)
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with suppress(ConnectionError, TimeoutError):
                await self._converse(task, reader, writer)
        except asyncio.CancelledError:
            # The server ends.
            pass
        finally:
            self._open.discard(task)
            self._busy.discard(task)
            writer.close()

    async def _converse(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        is_last = len(self._open) > MOST_CONNECTIONS
        if is_last:
            await _send(writer, *_refusal(NoAnswer(HTTPStatus.SERVICE_UNAVAILABLE, "Too many are asking.")), is_last)
        while not is_last:
            try:
                request = await self._next(task, reader)
            except NoAnswer as error:
                await _send(writer, *_refusal(error), True)
                await _take_the_rest(reader)
                return
            if request is None:
                return
            status, body = await self._answer(request)
            is_last = request.is_last or self._is_ending
            await _send(writer, status, body, is_last)
            self._busy.discard(task)

    async def _next(self, task: asyncio.Task[None], reader: asyncio.StreamReader) -> Request | None:
        async with asyncio.timeout(IDLE):
            head = await read_head(reader)
        if head is None:
            return None
        self._busy.add(task)
        async with asyncio.timeout(PATIENCE):
            return await read_body(reader, head)

    async def _answer(self, request: Request) -> tuple[HTTPStatus, bytes]:
        try:
            return HTTPStatus.OK, await self._handler(request)(request.body)
        except NoAnswer as error:
            return _refusal(error)
        except Exception:
            logger.exception("This is a bug of Tarântula.")
            return _refusal(NoAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, "This is a bug of Tarântula: see the log."))

    def _handler(self, request: Request) -> Handler:
        path = request.path.partition("?")[0]
        if path not in self._routes:
            raise NoAnswer(HTTPStatus.NOT_FOUND, f"There is nothing at {path[:100]}.")
        method, handler = self._routes[path]
        if request.method != method:
            raise NoAnswer(HTTPStatus.METHOD_NOT_ALLOWED, f"Ask {path} with {method}.")
        return handler


def told_by_signals() -> asyncio.Event:
    """Return what is set by Ctrl-C, or when the system ends the process."""
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    return told


def _refusal(error: NoAnswer) -> tuple[HTTPStatus, bytes]:
    return error.status, json.dumps({"error": str(error)}, ensure_ascii=False).encode()


async def _take_the_rest(reader: asyncio.StreamReader) -> None:
    """Read what is still being sent: who is cut off while it writes may never see why."""
    async with asyncio.timeout(LINGER):
        while await reader.read(LARGEST_HEAD):
            pass


async def _send(writer: asyncio.StreamWriter, status: HTTPStatus, body: bytes, is_last: bool) -> None:
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {JSON}",
        f"Content-Length: {len(body)}",
        f"Connection: {'close' if is_last else 'keep-alive'}",
    ]
    writer.write("\r\n".join((*lines, "", "")).encode() + body)
    async with asyncio.timeout(PATIENCE):
        await writer.drain()
