"""The web server against clients that delay, with real sockets on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from tarantula.core import connection_limits
from tarantula.core.connection_limits import OpenConnections, client_network
from tarantula.core.sockets import open_listener
from tarantula.web import server
from tests.support.waits import TIMEOUT_SECONDS, eventually

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"
LARGE = b"x" * 40_000_000


async def _whole(_request: Request) -> Response:
    return PlainTextResponse("well")


async def _echo(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _late(request: Request) -> Response:
    await asyncio.sleep(1.5)
    return PlainTextResponse(str(len(await request.body())))


async def _large(_request: Request) -> Response:
    return PlainTextResponse(LARGE)


async def _parts(_request: Request) -> Response:
    async def parts() -> object:
        for _ in range(5):
            await asyncio.sleep(0.4)
            yield b"part "

    return StreamingResponse(parts())  # type: ignore[arg-type]


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(await websocket.receive_text())


ROUTES = [
    Route("/", _whole),
    Route("/echo", _echo, methods=["POST"]),
    Route("/late", _late, methods=["POST"]),
    Route("/large", _large),
    Route("/parts", _parts),
    WebSocketRoute("/socket", _socket),
]


class Running:
    """A running server."""

    def __init__(self, port: int, opened: OpenConnections) -> None:
        self.port = port
        self.opened = opened

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Open a connection, and send bytes."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS)
        client.sendall(sent)
        return client

    def ask(self, request: bytes) -> bytes:
        """Send a request, and read until the connection ends."""
        with self.connect(request) as client:
            return read_all(client)


def read_all(client: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65536):
            received += part
    return received


@contextmanager
def running(most: int = 100) -> Iterator[Running]:
    """Serve the routes in a thread."""
    listener = open_listener("127.0.0.1", 0)
    opened, begun = OpenConnections(100, most), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        one = server._Server(server._Config(Starlette(routes=ROUTES), opened, []))
        loops.append(asyncio.get_running_loop())
        watcher = asyncio.create_task(opened.abort_overdue())
        end.append(lambda: setattr(one, "should_exit", True))
        begun.set()
        await one.serve(sockets=[listener])
        watcher.cancel()

    end: list[Callable[[], None]] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    begun.wait(TIMEOUT_SECONDS)
    try:
        yield Running(listener.getsockname()[1], opened)
    finally:
        loops[0].call_soon_threadsafe(end[0])
        thread.join()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short times, which wait for a client that never does anything."""
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "STALL_SECONDS"):
        monkeypatch.setattr(server, name, 0.6)
    monkeypatch.setattr(connection_limits, "CHECK_SECONDS", 0.05)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", b""),
        (b"GET", b"HTTP/1.1 408 "),
        (HEAD, b"HTTP/1.1 408 "),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc", b"HTTP/1.1 408 "),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", b"HTTP/1.1 408 "),
        (HEAD + b"\r\n" + HEAD, b"HTTP/1.1 200 "),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc", b"HTTP/1.1 405 "),
    ],
)
def test_a_request_that_is_never_complete_ends(sent: bytes, status: bytes) -> None:
    with running() as place:
        assert place.ask(sent).startswith(status)
        eventually(lambda: not len(place.opened))


@pytest.mark.usefixtures("quick")
def test_a_client_that_sends_a_byte_now_and_then_ends_too() -> None:
    with running() as place, place.connect(HEAD) as client:

        def is_closed() -> bool:
            with suppress(BlockingIOError):
                try:
                    client.send(b"a")
                    return bool(client.recv(1000, socket.MSG_DONTWAIT))
                except ConnectionError:
                    return True
            return False

        eventually(is_closed)


@pytest.mark.usefixtures("quick")
def test_a_client_that_does_not_read_ends() -> None:
    with running() as place, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", place.port))
        client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        eventually(lambda: len(place.opened) == 1)
        eventually(lambda: not len(place.opened))
        client.settimeout(TIMEOUT_SECONDS)
        assert len(read_all(client)) < len(LARGE)


@pytest.mark.usefixtures("quick")
def test_what_takes_the_server_long_is_not_the_clients_fault() -> None:
    last = b"Connection: close\r\n\r\n"
    with running() as place:
        late = place.ask(b"POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n" + last + b"x" * 200_000)
        assert late.endswith(b"200000")
        parts = place.ask(b"GET /parts HTTP/1.1\r\nHost: a\r\n" + last)
        assert parts.count(b"part ") == 5
        upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        with place.connect(b"GET /socket HTTP/1.1\r\nHost: a\r\n" + upgrade + key) as client:
            assert client.recv(1000).startswith(b"HTTP/1.1 101")
            # Longer than all the times above: other clients came and were closed meanwhile.
            place.ask(b"GET")
            client.sendall(b"\x81\x81\0\0\0\0a")
            assert client.recv(1000).startswith(b"\x81\x01a")
        eventually(lambda: not len(place.opened))


def test_a_head_without_end_is_refused() -> None:
    with running() as place, place.connect(HEAD + b"X-A: ") as client:
        eventually(lambda: len(place.opened) == 1)
        received = b""
        with suppress(ConnectionError):
            for _ in range(200):
                client.sendall(b"a" * 65_536)
            received = read_all(client)
        # A client that still sends may miss the sentence.
        assert not received or b"larger than 65,536 bytes" in received
        eventually(lambda: not len(place.opened))


def test_those_that_are_waited_for_longest_make_room() -> None:
    with running(most=5) as place, ExitStack() as opened:
        half = [opened.enter_context(place.connect(HEAD)) for _ in range(40)]
        for _ in range(3):
            assert place.ask(HEAD + b"Connection: close\r\n\r\n").endswith(b"well")
        assert len(place.opened) <= 5
        assert read_all(half[0]) == b""


@pytest.mark.usefixtures("quick")
def test_an_address_has_its_own_limit() -> None:
    class Open:
        def __init__(self, client_address: str, since: float | None) -> None:
            self.client_address, self.since, self.is_aborted = client_address, since, False

        def waits_since(self) -> float | None:
            return self.since

        def is_overdue(self, now: float) -> bool:
            return False

        def abort(self) -> None:
            self.is_aborted = True

    opened = OpenConnections(2, 100)
    busy = [Open("2001:db8::1", None), Open("2001:db8::2", None)]
    assert all(map(opened.add, busy))
    assert not opened.add(Open("2001:db8::3", None))
    assert opened.add(Open("192.0.2.1", None))
    opened.remove(busy[0])
    waiting = Open("2001:db8::4", 1.0)
    assert opened.add(waiting)
    assert opened.add(Open("2001:db8::5", 2.0))
    assert waiting.is_aborted
    # Behind a proxy on this machine all have its address.
    assert all(opened.add(Open("127.0.0.1", None)) for _ in range(10))
    assert client_network("::ffff:192.0.2.1") == client_network("192.0.2.1") == "192.0.2.1"


def test_the_limit_of_open_files_limits_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarantula.core.process.open_files_limit", lambda: 300)
    assert OpenConnections(100).most == 86
