"""A small HTTP server for programs that ask one another in JSON: everything has a limit, in bytes and in seconds."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

from tarantula.search.barrels.http_server_part_http_conversation import HttpAnswer, ServerConnection, error_answer
from tarantula.search.barrels.http_server_part_http_request import HttpError, RequestHead

MOST_CONNECTIONS = 500
SHUTDOWN_GRACE_SECONDS = 2.0
"""Seconds for what is under way when the server ends."""
DEADLINE_CHECK_SECONDS = 0.25
"""Seconds between two looks for those who are late."""

logger = logging.getLogger(__name__)

JsonHandler = Callable[[bytes], Awaitable[bytes]]
"""Makes a body of JSON of another, or says why not with `NoAnswer`."""
JsonRoutes = Mapping[str, tuple[str, JsonHandler]]
"""By path: the method, and what answers."""


class JsonServer:
    """Answers requests until it is told to end."""

    def __init__(self, routes: JsonRoutes) -> None:
        self._routes = routes
        self._open: set[ServerConnection] = set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    async def run(self, taken: socket.socket, ending: asyncio.Event) -> None:
        """Serve on a socket until *ending*; then let what is under way come to its end, for a moment."""
        server = await asyncio.get_running_loop().create_server(self._conversation, sock=taken)
        watching = asyncio.create_task(self._watch())
        await ending.wait()
        server.close()
        for conversation in list(self._open):
            conversation.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_GRACE_SECONDS):
                await self._is_empty.wait()
        watching.cancel()
        for conversation in list(self._open):
            conversation.abort()

    def _conversation(self) -> ServerConnection:
        return ServerConnection(self._ask, self._begin, self._end)

    def _begin(self, conversation: ServerConnection) -> None:
        self._open.add(conversation)
        self._is_empty.clear()
        if len(self._open) > MOST_CONNECTIONS:
            conversation.refuse(HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "Too many are asking."))

    def _end(self, conversation: ServerConnection) -> None:
        self._open.discard(conversation)
        if not self._open:
            self._is_empty.set()

    async def _watch(self) -> None:
        """Leave whoever is late."""
        while True:
            await asyncio.sleep(DEADLINE_CHECK_SECONDS)
            now = asyncio.get_running_loop().time()
            for conversation in [one for one in self._open if one.deadline < now]:
                conversation.abort()

    async def _ask(self, head: RequestHead, body: bytes) -> HttpAnswer:
        try:
            return HTTPStatus.OK, await self._handler(head)(body)
        except HttpError as error:
            return error_answer(error)
        except Exception:
            logger.exception("This is a bug of Tarântula.")
            return error_answer(HttpError(HTTPStatus.INTERNAL_SERVER_ERROR, "This is a bug of Tarântula: see the log."))

    def _handler(self, head: RequestHead) -> JsonHandler:
        path = head.path.partition("?")[0]
        if path not in self._routes:
            raise HttpError(HTTPStatus.NOT_FOUND, f"There is nothing at {path[:100]}.")
        method, handler = self._routes[path]
        if head.method != method:
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, f"Ask {path} with {method}.")
        return handler


def shutdown_event() -> asyncio.Event:
    """Return what is set by Ctrl-C, or when the system ends the process."""
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    return told
