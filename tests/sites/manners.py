"""Misbehaviour of servers, as routes of a `Web`."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
import threading
from itertools import count

from tests.sites.server import Answer, Manner, Route, Visit

OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"


def saying(words: bytes) -> Manner:
    """Send these bytes and close."""

    async def manner(_visit: Visit, connection: asyncio.Transport) -> None:
        connection.write(words)

    return manner


async def silence(_visit: Visit, _connection: asyncio.Transport) -> None:
    """Never respond."""
    await asyncio.Event().wait()


async def drip(_visit: Visit, connection: asyncio.Transport) -> None:
    """Start a page, and send a byte of it now and then."""
    connection.write(OK + HTML + b"\r\n")
    while not connection.is_closing():
        connection.write(b".")
        await asyncio.sleep(0.05)


async def chunks_without_end(_visit: Visit, connection: asyncio.Transport) -> None:
    """Send chunks until the client closes."""
    connection.write(OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n")
    while not connection.is_closing():
        connection.write(b"1000\r\n" + b"." * 4096 + b"\r\n")
        await asyncio.sleep(0 if connection.get_write_buffer_size() < 1_000_000 else 0.01)


async def reset(_visit: Visit, connection: asyncio.Transport) -> None:
    """Reset the connection."""
    connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.abort()


def bomb(size: int) -> Answer:
    """Return a small compressed page that decompresses to *size* bytes."""
    return Answer(gzip.compress(b"\0" * size, mtime=0), headers={"Content-Encoding": "gzip"})


def held_back(gate: threading.Event, answer: Answer) -> Manner:
    """Respond when the gate is opened."""

    async def manner(_visit: Visit, _connection: asyncio.Transport) -> Answer:
        await asyncio.to_thread(gate.wait)
        return answer

    return manner


def first_then(first: Route, later: Route) -> Manner:
    """Send one response to the first request, and another to all that follow."""
    turns = count()

    async def manner(visit: Visit, connection: asyncio.Transport) -> Answer | None:
        route = later if next(turns) else first
        return route if isinstance(route, Answer) else await route(visit, connection)

    return manner


def holding(released: threading.Event, answer: Answer) -> Manner:
    """Hold a response back until it is released."""

    async def manner(_visit: Visit, _connection: asyncio.Transport) -> Answer:
        while not released.is_set():  # noqa: ASYNC110  it is set in another thread
            await asyncio.sleep(0.01)
        return answer

    return manner
