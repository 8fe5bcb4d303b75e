"""A loopback TCP server whose handler writes any bytes, slowly or never."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

Handler = Callable[["Peer"], None]
CLOSED = (ssl.SSLError, ConnectionError, OSError, ValueError)


class Peer:
    """One connection, as the server sees it."""

    def __init__(self, connection: socket.socket, stopping: threading.Event) -> None:
        self._connection = connection
        self._stopping = stopping
        self._buffer = b""
        self.address: str = connection.getpeername()[0]
        self.requests: list[bytes] = []

    def read_request(self) -> bytes:
        """Read the next request up to its empty line; empty if there is none."""
        while b"\r\n\r\n" not in self._buffer:
            received = self._connection.recv(65536)
            if not received:
                return b""
            self._buffer += received
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        self.requests.append(head + b"\r\n\r\n")
        return self.requests[-1]

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._connection.sendall(data)

    def drip(self, pieces: Iterable[bytes | int], pause: float) -> None:
        """Send pieces, or single bytes, with a pause after each."""
        for piece in pieces:
            self.write(bytes([piece]) if isinstance(piece, int) else piece)
            if self._stopping.wait(pause):
                return

    def wait(self) -> None:
        """Wait without sending until the client closes."""
        with suppress(*CLOSED):
            while self._connection.recv(65536):
                pass

    def reset(self) -> None:
        """Reset the connection."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Switch to TLS."""
        self._connection = context.wrap_socket(self._connection, server_side=True)

    def join(self, onward: socket.socket) -> None:
        """Forward bytes to and from another server until one side closes."""
        back = threading.Thread(target=_carry, args=(onward, self._connection), daemon=True)
        back.start()
        _carry(self._connection, onward)
        back.join(10)

    def close(self) -> None:
        """Close, so that reads that wait for the client return."""
        with suppress(*CLOSED):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(*CLOSED):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(*CLOSED):
        sink.shutdown(socket.SHUT_WR)


class RawServer:
    """Runs a handler in a thread for every connection while the context lasts."""

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> None:
        self._handler = handler
        self._tls = tls
        self._stopping = threading.Event()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family)
        self._threads: list[threading.Thread] = []
        self.peers: list[Peer] = []
        self.closed = threading.Event()
        """Set when a connection has ended: the handler returned, or the client closed."""
        self.port: int = self._listener.getsockname()[1]
        host = f"[{address}]" if ":" in address else address
        self.server = f"{host}:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.server}/"

    @property
    def requests(self) -> list[bytes]:
        """All requests, connection by connection."""
        return [request for peer in self.peers for request in peer.requests]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self.peers:
            peer.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._stopping.is_set():
                connection, _ = self._listener.accept()
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        peer = Peer(connection, self._stopping)
        self.peers.append(peer)
        try:
            if self._tls is not None:
                peer.start_tls(self._tls)
            self._handler(peer)
        except CLOSED:
            pass
        finally:
            peer.close()
            self.closed.set()


def answering(*answers: bytes) -> Handler:
    """Return a handler that sends these responses, one for each request, and then closes."""

    def handler(peer: Peer) -> None:
        for answer in answers:
            if peer.read_request():
                peer.write(answer)

    return handler


def repeating(answer: bytes) -> Handler:
    """Return a handler that sends the same response to every request on persistent connections."""

    def handler(peer: Peer) -> None:
        while peer.read_request():
            peer.write(answer)

    return handler


def then_waiting(answer: bytes) -> Handler:
    """Return a handler that sends one response, or its beginning, and then nothing."""

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.write(answer)
        peer.wait()

    return handler
