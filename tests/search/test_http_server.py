"""The JSON server: every request is answered or refused with a message, within time limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus

import pytest

from tarantula.core.sockets import open_listener
from tarantula.search.barrels import http_server
from tarantula.search.barrels.http_server import LARGEST_BODY, LARGEST_HEAD, HttpError, JsonServer
from tests.support.waits import TIMEOUT_SECONDS, eventually_here

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
QUESTION = b'{"query": "x"}'
noted: list[str | int] = []
"""Notes of the handler, and what became of waiting requests."""


async def echo(body: bytes) -> bytes:
    """Return the body, after the delay that it asks for."""
    asked = json.loads(body)
    if "wait" in asked:
        await _wait(asked["wait"])
    if "note" in asked:
        noted.append(asked["note"])
    if "refuse" in asked:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "Not now.")
    return body


async def _wait(seconds: float) -> None:
    noted.append("waiting")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        noted.append("cancelled")
        raise


def talking(talk: Talk) -> None:
    """Talk to a server over one connection, then shut it down."""

    async def go() -> None:
        ending = asyncio.Event()
        with open_listener("127.0.0.1", 0) as taken:
            serving = asyncio.create_task(JsonServer({"/echo": ("POST", echo)}).run(taken, ending))
            reader, writer = await asyncio.open_connection(*taken.getsockname())
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await talk(reader, writer)
                ending.set()
                await serving
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    asyncio.run(go())


def posted(body: bytes = QUESTION, path: str = "/echo", *headers: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: here", "Content-Type: application/json; charset=utf-8", *headers)
    return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    length = next(int(line.partition(":")[2]) for line in head if line.startswith("Content-Length"))
    return int(head[0].split()[1]), json.loads(await reader.readexactly(length))


def test_one_connection_carries_many_requests() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(posted() + posted(b'{"query": "second"}'))
        assert await answer(reader) == (200, {"query": "x"})
        assert await answer(reader) == (200, {"query": "second"})
        writer.write(posted(b'{"refuse": 1}'))
        assert await answer(reader) == (503, {"error": "Not now."})
        writer.write(posted(QUESTION, "/echo", "Connection: close"))
        assert await answer(reader) == (200, {"query": "x"})
        assert await reader.read() == b""

    talking(talk)


REFUSED = {
    "no HTTP": (b"hello\r\n\r\n", 400, "This is not a valid HTTP/1.1 request."),
    "a header that is none": (
        b"POST /echo HTTP/1.1\r\nbad header\r\n\r\n",
        400,
        "This is not a valid HTTP/1.1 request.",
    ),
    "another version": (b"POST /echo HTTP/2.0\r\n\r\n", 400, "This is not a valid HTTP/1.1 request."),
    "a long head": (b"POST /echo HTTP/1.1\r\nX: " + b"x" * 2 * LARGEST_HEAD, 431, "larger than 16,384 bytes"),
    "chunks": (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, "Content-Length"),
    "no number": (b"POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "is not a number"),
    "two lengths": (b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "more than one"),
    "a form": (b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 415, "application/json"),
    "a large body": (posted(b"x" * (LARGEST_BODY + 1)), 413, "larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_requests_are_refused_and_the_connection_closed(name: str) -> None:
    sent, status, message = REFUSED[name]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        got, said = await answer(reader)
        assert (got, message in said["error"]) == (status, True), said
        writer.write_eof()
        assert await reader.read() == b""

    talking(talk)


def test_wrong_paths_and_handler_errors_keep_the_connection_open(caplog: pytest.LogCaptureFixture) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(posted(QUESTION, "/other"))
        assert await answer(reader) == (404, {"error": "There is no resource at /other."})
        writer.write(b"GET /echo HTTP/1.1\r\n\r\n")
        assert await answer(reader) == (405, {"error": "Use POST for /echo."})
        writer.write(posted(b"no json"))
        assert (await answer(reader))[0] == 500
        writer.write(posted(QUESTION, "/echo?x=y"))
        assert (await answer(reader))[0] == 200

    talking(talk)
    assert "JSONDecodeError" in caplog.text


@pytest.mark.parametrize(
    ("limit", "sent"),
    [("IDLE_TIMEOUT_SECONDS", b""), ("IDLE_TIMEOUT_SECONDS", b"POST"), ("TRANSFER_TIMEOUT_SECONDS", posted()[:-1])],
)
def test_slow_clients_are_disconnected(limit: str, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, limit, 0.1)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        assert await reader.read() == b""

    talking(talk)


def test_too_many_connections_are_refused_if_all_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 1)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        noted.clear()
        writer.write(posted(b'{"wait": 1}'))
        await eventually_here(lambda: noted)
        other, closing = await asyncio.open_connection(*writer.get_extra_info("peername"))
        assert await answer(other) == (503, {"error": "There are too many connections."})
        closing.close()
        assert (await answer(reader))[0] == 200

    talking(talk)


def test_a_connection_that_asks_nothing_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 3)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"POST /echo HTTP/1.1\r\n")
        where = writer.get_extra_info("peername")
        half = [await asyncio.open_connection(*where) for _ in range(10)]
        other, asking = await asyncio.open_connection(*where)
        asking.write(posted())
        assert (await answer(other))[0] == 200
        assert await reader.read() == b""
        for _, one in [*half, (other, asking)]:
            one.close()

    talking(talk)


def test_running_requests_finish_at_shutdown() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(posted(b'{"wait": 0.1}'))
        # The request has arrived before the shutdown.
        await eventually_here(lambda: noted == ["waiting"])
        reading.append(asyncio.create_task(answer(reader)))

    noted.clear()
    reading: list[asyncio.Task[tuple[int, dict[str, str]]]] = []
    talking(talk)
    assert reading[0].result()[0] == 200


def test_requests_of_disconnected_clients_are_cancelled() -> None:
    async def talk(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(posted(b'{"wait": 3600, "note": 1}'))
        await eventually_here(lambda: noted)
        writer.transport.abort()
        await eventually_here(lambda: len(noted) > 1)

    noted.clear()
    talking(talk)
    assert noted == ["waiting", "cancelled"]


def test_clients_that_do_not_read_are_not_read_from(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(posted(b'{"note": 1}'))
        await eventually_here(lambda: noted)
        monkeypatch.setattr(http_server, "TRANSFER_TIMEOUT_SECONDS", 0.3)
        large = json.dumps({"note": 1, "text": "x" * (LARGEST_BODY - 100)}).encode()
        with suppress(ConnectionError):
            for _ in range(40):
                writer.write(posted(large))
                await writer.drain()
        assert writer.transport.is_closing() or reader.exception() is not None

    noted.clear()
    talking(talk)
    assert 0 < len(noted) < 30
