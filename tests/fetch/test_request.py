"""Requests and proxies."""

from __future__ import annotations

import pytest

from tarantula.fetch.exchange import FetchRequest, InvalidRequest
from tarantula.fetch.request import write_request


@pytest.mark.parametrize(
    ("url", "first", "host", "port"),
    [
        ("http://example.org/", b"GET / HTTP/1.1\r\nHost: example.org\r\n", "example.org", 80),
        ("http://example.org", b"GET / HTTP/1.1\r\nHost: example.org\r\n", "example.org", 80),
        ("http://example.org?a=b#c", b"GET /?a=b HTTP/1.1\r\nHost: example.org\r\n", "example.org", 80),
        ("https://example.org/a%20b", b"GET /a%20b HTTP/1.1\r\nHost: example.org\r\n", "example.org", 443),
        ("HTTP://example.org:8080/", b"GET / HTTP/1.1\r\nHost: example.org:8080\r\n", "example.org", 8080),
        ("http://[::1]:81/x", b"GET /x HTTP/1.1\r\nHost: [::1]:81\r\n", "::1", 81),
        ("http://user:word@example.org/", b"GET / HTTP/1.1\r\nHost: example.org\r\n", "example.org", 80),
    ],
)
def test_request_line_and_host(url: str, first: bytes, host: str, port: int) -> None:
    request = write_request(FetchRequest(url))
    assert request.wire == first + b"Accept-Encoding: gzip, deflate\r\n\r\n"
    assert (request.origin.host, request.origin.port) == (host, port)


def test_headers_that_are_given_are_not_added() -> None:
    headers = [(b"accept-ENCODING", b"identity"), (b"host", b"other.example")]
    assert write_request(FetchRequest("http://example.org/", headers)).wire == (
        b"GET / HTTP/1.1\r\naccept-ENCODING: identity\r\nhost: other.example\r\n\r\n"
    )


@pytest.mark.parametrize(
    "ask",
    [
        FetchRequest("http://example.org/", [(b"A", b"b\r\nC: d")]),
        FetchRequest("http://example.org/", [(b"A\n", b"b")]),
        FetchRequest("http://example.org/", [(b"A", b"b\0")]),
        FetchRequest("http://example.org/\r\nA: b"),
        FetchRequest("http://example.org/a b"),
        FetchRequest("http://example.org/é"),
        FetchRequest("http://exam\nple.org/"),
        FetchRequest("http://example.org/", method="GET /"),
    ],
)
def test_what_would_break_a_request_is_refused(ask: FetchRequest) -> None:
    with pytest.raises(InvalidRequest):
        write_request(ask)


def test_a_url_of_100_kilobytes_is_written_whole() -> None:
    path = "/" + "a" * 100_000
    assert write_request(FetchRequest(f"http://example.org{path}")).wire.startswith(f"GET {path} HTTP/1.1\r\n".encode())
