"""The HTTP server: uvicorn, with limits on what clients may delay and on the number of their connections.

uvicorn has a limit for idle connections only. These come from Apache's mod_reqtimeout, for the same reasons.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tarantula.core.connection_limits import ACCEPT_BACKLOG, OpenConnections
from tarantula.core.termination import request_end

SHUTDOWN_SECONDS = 2
"""Time that running requests have when the server stops."""
HEAD_SECONDS = 15.0
"""Time for the head of a request, from the opening of the connection or from its first byte."""
KEEP_ALIVE_SECONDS = 15
"""Time that a connection may be idle between two requests."""
BODY_SECONDS = 20.0
"""Time for the body of a request, beyond that of its bytes at the minimum rate."""
MIN_BODY_RATE = 1000
"""Bytes per second at which the body of a request has to arrive."""
STALL_SECONDS = 30.0
"""Time after which a client that takes nothing of its response is disconnected."""
MAX_HEAD_BYTES = 64 * 1024
MAX_RAW_BODY_BYTES = 128 * 1024 * 1024
"""Bytes of a request after its head, with the overhead of chunks and trailers; `MAX_REQUEST_BYTES` limits the body."""


class _Config(uvicorn.Config):
    """Configuration of uvicorn, and the connections of all servers of this process."""

    def __init__(self, app: ASGIApp, connections: OpenConnections, proxies: list[str]) -> None:
        super().__init__(
            app,
            http=LimitedProtocol,
            log_level="warning",
            access_log=False,
            use_colors=False,
            server_header=False,
            backlog=ACCEPT_BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            # Without a list uvicorn believes these headers of every client on this machine.
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
        )
        self.connections = connections


class LimitedProtocol(HttpToolsProtocol):
    """A connection whose client has to send its requests, and to take the responses, within a time."""

    config: _Config

    def __init__(
        self,
        config: _Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._since = self.loop.time()
        """When the connection was opened, or the current request or its body began, or the last response ended."""
        self._received = 0
        """Bytes received since then."""
        self._in_message = self._in_body = self._is_websocket = False
        self._unsent = 0
        self._taken_at = self._since
        """When the client last took bytes of a response."""

    @property
    def client_address(self) -> str:
        """Address of the client, or of the proxy in front."""
        return self.client[0] if self.client else ""

    def waits_since(self) -> float | None:
        """Return the loop time since when the server waits for a request; None while it answers one."""
        is_answering = self.pipeline or (self.cycle and not self.cycle.response_complete and not self.cycle.more_body)
        return None if is_answering or self._is_websocket else self._since

    def is_overdue(self, now: float) -> bool:
        """Whether the client is late; one that is late with a request gets a 408 first."""
        if self._is_closed():
            self.config.connections.remove(self)
            return False
        if self._takes_nothing(now):
            return True
        if self.waits_since() is None or now < self._deadline(now):
            return False
        if self._in_message and not (self._in_body and self.cycle and self.cycle.response_started):
            self._end(HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time. Send it again.")
        return True

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, or refuse it."""
        super().connection_made(transport)
        if not self.config.connections.add(self):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.config.connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes of a request, not more than it may have."""
        self._received += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_message and not self._in_body and self._received > MAX_HEAD_BYTES:
            self._end(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"The head of the request is larger than {MAX_HEAD_BYTES:,} bytes.",
            )
        elif self._received > MAX_RAW_BODY_BYTES:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self._restart()
        self._in_message, self._in_body = True, False
        self.scope["state"]["is_crowded"] = self.config.connections.is_full

    def on_headers_complete(self) -> None:
        """Note that the body begins."""
        self._restart()
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        self._restart()
        self._in_message = self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note that the connection is idle, or has the next request."""
        self._restart()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the WebSocket; it still has to take what is sent."""
        self._is_websocket = True
        super().handle_websocket_upgrade()

    def resume_writing(self) -> None:
        """Note that the client has taken bytes."""
        self._taken_at = self.loop.time()
        super().resume_writing()

    def _restart(self) -> None:
        self._since, self._received = self.loop.time(), 0

    def _deadline(self, now: float) -> float:
        if not self._in_body:
            return self._since + (HEAD_SECONDS if self._in_message or self.cycle is None else KEEP_ALIVE_SECONDS)
        if self.flow.read_paused or (self.cycle and self.cycle.waiting_for_100_continue):
            # The application does not read yet: this is not the client's time.
            self._since = now
        return self._since + BODY_SECONDS + self._received / MIN_BODY_RATE

    def _takes_nothing(self, now: float) -> bool:
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._taken_at = now
        self._unsent = unsent
        return now > self._taken_at + STALL_SECONDS

    def _is_closed(self) -> bool:
        # After an upgrade only the protocol of the WebSocket learns that the connection is closed.
        return self.transport.is_closing() and not self.transport.get_write_buffer_size()

    def _end(self, status: HTTPStatus, sentence: str) -> None:
        """Send an error that no application sends, and close."""
        body = json.dumps({"detail": sentence}).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that leaves signal handling to the caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield


def serve(
    applications: Sequence[tuple[ASGIApp, socket.socket]], connections_per_address: int, proxies: list[str]
) -> None:
    """Serve apps on their sockets until Ctrl-C; the headers of *proxies* say where a request came from."""
    asyncio.run(_serve(applications, OpenConnections(connections_per_address, proxies=proxies), proxies))


async def _serve(
    applications: Sequence[tuple[ASGIApp, socket.socket]], connections: OpenConnections, proxies: list[str]
) -> None:
    servers = [_Server(_Config(app, connections, proxies)) for app, _ in applications]

    def end() -> None:
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, end)
    loop.add_signal_handler(signal.SIGTERM, lambda: request_end(end))
    watcher = asyncio.create_task(connections.abort_overdue())
    await asyncio.gather(
        *(server.serve(sockets=[listener]) for server, (_, listener) in zip(servers, applications, strict=True))
    )
    watcher.cancel()
