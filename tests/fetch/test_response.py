"""Response parsing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.fetch.exchange import DownloadError, FetchRequest
from tarantula.fetch.response import ResponseReader

OK = b"HTTP/1.1 200 OK\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def read(*pieces: bytes, method: str = "GET", closed: bool = False) -> ResponseReader:
    """Parse a response that arrives in these pieces."""
    reader = ResponseReader(FetchRequest("http://example.org/", method=method, max_size=1_000_000), max_head=10_000)
    for piece in pieces:
        reader.feed(piece)
    if closed:
        reader.finish()
    assert reader.complete
    return reader


def payload_of(reader: ResponseReader) -> bytes:
    assert reader.body is not None
    return reader.body.payload()


def raw_of(reader: ResponseReader) -> bytes:
    assert reader.body is not None
    return reader.body.raw()


@pytest.mark.parametrize(
    ("head", "status", "headers"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", 200, [(b"A", b"b")]),
        (b"HTTP/1.1 200 OK\nA: b\n\n", 200, [(b"A", b"b")]),
        (b"HTTP/1.0 404\r\n\r\n", 404, []),
        (b"http/1.1 301 Moved\r\n\r\n", 301, []),
        (b"HTTP/1.1  200  OK\r\n\r\n", 200, []),
        (b"HTTP/1.1 200OK\r\n\r\n", 200, []),
        (b"HTTP/2 999 Request denied\r\n\r\n", 999, []),
        (b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 200, []),
        (b"HTTP/1.1 200 OK\r\nx-LOWER:1\r\nX-lower :  2 \t\r\n\r\n", 200, [(b"x-LOWER", b"1"), (b"X-lower", b"2")]),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\n: no name\r\nA: b\r\n\r\n", 200, [(b"A", b"b")]),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n  d\r\nE:\r\n\r\n", 200, [(b"A", b"b c d"), (b"E", b"")]),
        (b"HTTP/1.1 200 OK\r\nA: caf\xe9 \xc3\xa9\r\n\r\n", 200, [(b"A", b"caf\xe9 \xc3\xa9")]),
    ],
)
def test_heads_that_browsers_read(head: bytes, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    reader = read(head, b"body", closed=True)
    assert (reader.status, reader.headers, payload_of(reader)) == (status, headers, b"body")
    assert reader.head == head.lstrip(b"\r\n")


@pytest.mark.parametrize(
    ("answer", "payload", "reusable"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello", b"hello", True),
        (OK + b"Content-Length: 5\r\n\r\nhello and more", b"hello", False),
        (OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", b"hello", True),
        (OK + b"Content-Length: 5, 5\r\n\r\nhello", b"hello", True),
        (OK + b"Content-Length: 0\r\n\r\n", b"", True),
        (OK + b"Content-Length: 5\r\nConnection: Close\r\n\r\nhello", b"hello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello", b"hello", True),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b"", True),
        (INTERIM + OK + b"Content-Length: 2\r\n\r\nhi", b"hi", True),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"hello", True),
        (CHUNKED + b"0005  ;x=y\r\nhello\r\n1\r\n!\r\n00\r\n\r\n", b"hello!", True),
        (CHUNKED + b"A\nhello worl\n1\nd\n0\n\n", b"hello world", True),
        (CHUNKED + b"5\r\nhello6\r\n world0\r\n\r\n", b"hello world", True),
        (CHUNKED + b"5\r\nhello\r\n0\r\nX-Trailer: y\r\nZ: 0\r\n\r\n", b"hello", True),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\nmore", b"hello", False),
        (OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"hello", False),
        (OK + b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", b"hello", True),
    ],
)  # fmt: skip
def test_where_a_body_ends(answer: bytes, payload: bytes, reusable: bool) -> None:
    reader = read(answer)
    assert (payload_of(reader), reader.reusable) == (payload, reusable)
    by_bytes = [bytes([byte]) for byte in answer]
    if reusable:
        again = read(*by_bytes)
        assert (again.head, raw_of(again), payload_of(again)) == (reader.head, raw_of(reader), payload)


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"\r\nhello",
        OK + b"Content-Length: -5\r\n\r\nhello",
        OK + b"Content-Length: five\r\n\r\nhello",
        OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nhello",
        OK + b"Transfer-Encoding: gzip\r\n\r\nhello",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
def test_bodies_that_end_when_the_server_closes(answer: bytes) -> None:
    reader = read(answer, closed=True)
    assert payload_of(reader) == b"hello"
    assert not reader.reusable


def test_an_answer_to_head_has_no_body() -> None:
    reader = read(OK + b"Content-Length: 500\r\n\r\n", method="HEAD")
    assert raw_of(reader) == b""
    assert reader.reusable


def test_plain_bytes_are_not_copied() -> None:
    body = b"x" * 5000
    reader = read(OK + b"Content-Length: 5000\r\n\r\n", body)
    assert raw_of(reader) is body
    assert payload_of(reader) is body


def test_framing_is_kept() -> None:
    framed = b"5;odd=1\r\nhello\r\n0\r\nT: r\r\n\r\n"
    assert raw_of(read(CHUNKED + framed)) == framed


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """Generate a head, a body as transferred, and its payload."""
    payload = draw(st.binary(max_size=300))
    newline = draw(st.sampled_from([b"\r\n", b"\n"]))
    head = newline.join([b"HTTP/1.1 200 OK", b"X: y", b"%s", b"", b""])
    if draw(st.booleans()):
        return head % (b"Content-Length: %d" % len(payload)), payload, payload
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(payload) - 1)), max_size=5)))
    pieces = [payload[start:end] for start, end in pairwise([0, *cuts, len(payload)])]
    wire = b"".join(b"%X%s%s%s" % (len(piece), newline, piece, newline) for piece in pieces if piece)
    return head % b"Transfer-Encoding: chunked", wire + b"0" + newline + newline, payload


@given(answers(), st.data())
def test_pieces_do_not_matter(answer: tuple[bytes, bytes, bytes], data: st.DataObject) -> None:
    head, wire, payload = answer
    whole = head + wire
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=8)))
    reader = read(*(whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])))
    assert (reader.head, raw_of(reader), payload_of(reader), reader.reusable) == (head, wire, payload, True)


@given(st.lists(st.binary(max_size=60), max_size=6), st.booleans())
def test_rubbish_only_ever_raises_download_errors(pieces: list[bytes], with_head: bool) -> None:
    reader = ResponseReader(FetchRequest("http://example.org/", max_size=100), max_head=200)
    refused = False
    try:
        for piece in [OK, *pieces] if with_head else pieces:
            if not reader.complete:
                reader.feed(piece)
        reader.finish()
    except DownloadError:
        refused = True
    assert reader.complete or refused
