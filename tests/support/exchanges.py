"""HTTP exchanges with every kind of response."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime
from itertools import pairwise

from tarantula.fetch.exchange import Exchange
from tarantula.fetch.response import parse_head

STARTED_AT = datetime(2026, 6, 12, 22, 0, 1, 234567, tzinfo=UTC)
PAGE = b"<!DOCTYPE html><title>Biblioteca</title><p>" + b"Dep\xc3\xb3sito de publica\xc3\xa7\xc3\xb5es. " * 40
BINARY = bytes(range(256)) * 20


def chunked(body: bytes, *cuts: int) -> bytes:
    """Return *body* in chunks that end at *cuts*."""
    ends = [0, *(cut for cut in cuts if 0 < cut < len(body)), len(body)]
    pieces = [body[start:end] for start, end in pairwise(ends) if end > start]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def exchange(url: str, head: bytes, raw_body: bytes = b"", body: bytes | None = None, **rest: str) -> Exchange:
    """Return an exchange with this response."""
    _, _, server, path = url.split("/", 3)
    parsed = parse_head(head)
    return Exchange(
        url=url,
        request=f"GET /{path} HTTP/1.1\r\nHost: {server}\r\nAccept: */*\r\n\r\n".encode(),
        head=head,
        raw_body=raw_body,
        body=raw_body if body is None else body,
        status=parsed.status,
        headers=parsed.headers,
        address=rest.get("address", "127.0.0.1"),
        started_at=STARTED_AT,
        duration=0.25,
        tls=rest.get("tls", ""),
    )


def answer(*headers: str, status: str = "200 OK") -> bytes:
    """Return the head of a response."""
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode("latin-1")


HTML = "Content-Type: text/html; charset=utf-8"
GZIP = "Content-Encoding: gzip"
CHUNKED = "Transfer-Encoding: chunked"
PACKED = gzip.compress(PAGE, mtime=0)

ANSWERS: dict[str, Exchange] = {
    "identity": exchange("http://www.fc.ul.pt/", answer(HTML, f"Content-Length: {len(PAGE)}"), PAGE),
    "gzip": exchange("http://www.fc.ul.pt/gzip", answer(HTML, GZIP), PACKED, PAGE),
    "deflate": exchange("http://www.fc.ul.pt/z", answer(HTML, "Content-Encoding: deflate"), zlib.compress(PAGE), PAGE),
    "chunked": exchange("http://www.fc.ul.pt/chunked", answer(HTML, CHUNKED), chunked(PAGE, 10, 700), PAGE),
    "chunked gzip": exchange("http://www.fc.ul.pt/both", answer(HTML, GZIP, CHUNKED), chunked(PACKED, 3, 50), PAGE),
    "empty": exchange("http://www.fc.ul.pt/empty", answer(HTML, "Content-Length: 0")),
    "nothing but a status": exchange("http://www.fc.ul.pt/bare?q=a&b=%20", b"HTTP/1.0 404\n\n"),
    "redirect": exchange("http://fc.ul.pt/", answer("Location: http://www.fc.ul.pt/", status="301 Moved")),
    "redirect with a body": exchange("http://fc.ul.pt/old", answer(HTML, "Location: /new", status="302 Found"), PAGE),
    "not modified": exchange("http://www.fc.ul.pt/304", answer('ETag: "a"', status="304 Not Modified")),
    "binary": exchange("http://www.fc.ul.pt/LOGO.gif", answer("Content-Type: image/gif"), BINARY),
    "not latin": exchange("http://www.fc.ul.pt/%C3%A1", answer(HTML, "X-Autor: Jo\xe3o"), PAGE),
    "bare line ends": exchange("http://127.0.0.1:8080/lf", b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n", PAGE),
    "blank line in the head": exchange("http://127.0.0.1:8080/b", b"HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", PAGE),
    "encrypted": exchange(
        "https://www.ul.pt/", answer(HTML), PAGE, address="::1", tls="TLSv1.3 TLS_AES_256_GCM_SHA384"
    ),
}
