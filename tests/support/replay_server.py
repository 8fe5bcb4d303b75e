"""The replay origin on loopback, and a raw HTTP client that sends any bytes as a path."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import uvicorn

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.sockets import open_listener
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security import TicketSigner
from tests.support.waits import eventually


class Reply(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    """Names are in lower case."""
    body: bytes


class Showing(NamedTuple):
    """A running replay server."""

    port: int
    tickets: TicketSigner

    def get(self, path: str | bytes, *headers: str, method: str = "GET") -> Reply:
        """Request a path, valid or not."""
        raw = path if isinstance(path, bytes) else path.encode("latin-1")
        lines = ["", "Host: 127.0.0.1", "Connection: close", *headers, "", ""]
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(method.encode() + b" " + raw + b" HTTP/1.1" + "\r\n".join(lines).encode())
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, body = received.partition(b"\r\n\r\n")
        status, *fields = head.decode("latin-1").split("\r\n")
        named = (field.split(": ", 1) for field in fields)
        return Reply(int(status.split()[1]), {name.lower(): value for name, value in named}, body)

    def item(self, urn: str, path: str, *headers: str) -> Reply:
        """Request a path of an item, with a ticket."""
        return self.get(f"/{self.tickets.sign(urn)}/{urn}/{path}", *headers)


@contextmanager
def showing(config: Config, database: Database, tickets: TicketSigner | None = None) -> Iterator[Showing]:
    """Serve the archived pages of an installation."""
    tickets = tickets or TicketSigner()
    taken = open_listener("127.0.0.1", 0)
    app = create_replay_app(config, database, tickets)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    yield Showing(taken.getsockname()[1], tickets)
    server.should_exit = True
    thread.join(30)
