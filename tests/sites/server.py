"""A loopback web server in a thread: many addresses, one port, and misbehaviour where a route asks for it."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import NamedTuple, Self

MAX_PORT_TRIES = 20


@dataclass(frozen=True)
class Answer:
    """The response of a route."""

    body: bytes | str = b""
    type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def wire(self) -> bytes:
        """The response as bytes."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        headers = {"Content-Type": self.type, **self.headers}
        if self.status not in (204, 304):
            headers.setdefault("Content-Length", str(len(body)))
        known = self.status in HTTPStatus.__members__.values()
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase if known else 'Unknown'}"]
        lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return "\r\n".join([*lines, "", ""]).encode() + body


class Visit(NamedTuple):
    """A request that the server got."""

    time: float
    """Time of the monotonic clock."""
    server: str
    """Address and port of the server."""
    path: str
    """Path with the query."""
    head: bytes
    """Request line and headers."""
    body: bytes = b""

    @property
    def method(self) -> str:
        """HTTP method."""
        return self.head.split(b" ", 1)[0].decode("latin-1")

    @property
    def headers(self) -> dict[str, str]:
        """Headers by their names in lower case."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


Manner = Callable[[Visit, asyncio.Transport], Awaitable[Answer | None]]
"""Returns a response, or writes to the connection itself, which is then closed."""
Route = Answer | Manner
NOT_FOUND = Answer("<title>Not found</title>", status=404)


class Web:
    """Routes by path, or by address and path (``127.0.0.3/path``), served while the context lasts."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        addresses: Sequence[str] = ("127.0.0.1",),
        tls: ssl.SSLContext | None = None,
        fallback: Route = NOT_FOUND,
    ) -> None:
        self.routes = dict(routes)
        self.addresses = tuple(addresses)
        self.fallback = fallback
        self.visits: list[Visit] = []
        self.connections = 0
        """Number of connections, with or without a request."""
        self.port = 0
        self._tls = tls
        self._connections: set[_Connection] = set()
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="loopback web", daemon=True)

    def server(self, address: str | None = None) -> str:
        """Return one of the servers with its port, by default the first."""
        return f"{address or self.addresses[0]}:{self.port}"

    def url(self, path: str = "/", address: str | None = None) -> str:
        """Return the URL of a path."""
        return f"{'https' if self._tls else 'http'}://{self.server(address)}{path}"

    def visits_to(self, path: str, address: str | None = None) -> list[Visit]:
        """Return the requests for a path, at one address or at all."""
        places = (address, self.server(address))
        visits = [visit for visit in list(self.visits) if visit.path == path]
        return [visit for visit in visits if address is None or visit.server in places]

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        if not self.port:
            raise OSError(f"No port is free on all of {self.addresses}")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            listener = self._loop.run_until_complete(self._listen())
            self._started.set()
            if listener is not None:
                self._loop.run_forever()
                listener.close()
            self._loop.run_until_complete(self._hang_up())
        finally:
            self._started.set()
            self._loop.close()

    async def _listen(self) -> asyncio.Server | None:
        for _ in range(MAX_PORT_TRIES):
            port = free_port(self.addresses[0])
            try:
                listener = await self._loop.create_server(
                    lambda: _Connection(self), self.addresses, port, ssl=self._tls, backlog=1024
                )
            except OSError:
                continue
            self.port = port
            return listener
        return None

    async def _hang_up(self) -> None:
        for connection in list(self._connections):
            connection.hang_up()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def route(self, address: str, head: bytes, body: bytes = b"") -> tuple[Visit, Route]:
        """Record a request and find its route."""
        path = head.split(b" ", 2)[1].decode("latin-1")
        visit = Visit(time.monotonic(), f"{address}:{self.port}", path, head, body)
        self.visits.append(visit)
        found = self.routes.get(address + path) or self.routes.get(path) or self.fallback
        return visit, found


class _Connection(asyncio.Protocol):
    """Serves the requests of one connection, one after another."""

    _transport: asyncio.Transport
    _address: str

    def __init__(self, web: Web) -> None:
        self._web = web
        self._received = b""
        self._manner: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]
        self._web._connections.add(self)
        self._web.connections += 1

    def connection_lost(self, error: Exception | None) -> None:
        self._web._connections.discard(self)
        if self._manner is not None:
            self._manner.cancel()

    def hang_up(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._manner is None and b"\r\n\r\n" in self._received:
            head, _, rest = self._received.partition(b"\r\n\r\n")
            length = _length(head)
            if len(rest) < length:
                return
            self._received = rest[length:]
            visit, route = self._web.route(self._address, head, rest[:length])
            if isinstance(route, Answer):
                self._transport.write(route.wire)
            else:
                self._manner = asyncio.ensure_future(self._behave(route, visit))

    async def _behave(self, manner: Manner, visit: Visit) -> None:
        answer = await manner(visit, self._transport)
        if answer is None:
            self._transport.close()
            return
        self._transport.write(answer.wire)
        self._manner = None
        self.data_received(b"")


def _length(head: bytes) -> int:
    """Return the length of the body of a request."""
    found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else 0


def free_port(address: str = "127.0.0.1") -> int:
    """Return a free port of an address."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
