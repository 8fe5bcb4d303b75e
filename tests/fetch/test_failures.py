"""Misbehaving servers: each case ends with the right state and message."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tarantula.core.states import DocumentState
from tarantula.fetch.client import HttpClient
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import (
    BodyTooLarge,
    DownloadError,
    FetchRequest,
    FetchTimeout,
    InvalidRequest,
    InvalidResponse,
    LocalResourceError,
    NoStatusCode,
    PrivateAddress,
    RefusedByRule,
    ResponseHead,
    ServerUnreachable,
    TruncatedBody,
    local_resource_error,
)
from tests.sites.raw import Handler, Peer, RawServer, answering, then_waiting
from tests.sites.server import Answer, Web
from tests.support.fetches import LOCAL, RUNNERS, Runner, fetch
from tests.support.waits import TIMEOUT_SECONDS

OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: %d\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def closing(_peer: Peer) -> None:
    pass


def resetting(peer: Peer) -> None:
    peer.read_request()
    peer.reset()


def resetting_in_the_body(peer: Peer) -> None:
    peer.read_request()
    peer.write(SIZED % 100 + b"abc")
    time.sleep(0.05)
    peer.reset()


def silent(peer: Peer) -> None:
    peer.wait()


def endless(peer: Peer) -> None:
    peer.read_request()
    peer.write(OK + b"\r\n")
    while True:
        peer.write(b"x" * 65536)


def endless_chunks(peer: Peer) -> None:
    peer.read_request()
    peer.write(CHUNKED)
    while True:
        peer.write(b"1;%s\r\nx\r\n" % (b"y" * 200))


def endless_trailer(peer: Peer) -> None:
    peer.read_request()
    peer.write(CHUNKED + b"0\r\n")
    while True:
        peer.write(b"X-Trailer: y\r\n" * 1000)


def endless_headers(peer: Peer) -> None:
    peer.read_request()
    peer.write(OK)
    while True:
        peer.write(b"X-More: y\r\n" * 1000)


def endless_interim(peer: Peer) -> None:
    peer.read_request()
    while True:
        peer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100)


def dripping_head(peer: Peer) -> None:
    peer.read_request()
    peer.drip(OK * 100, 0.05)


def dripping_body(peer: Peer) -> None:
    peer.read_request()
    peer.write(SIZED % 1000)
    peer.drip(b"x" * 1000, 0.05)


@dataclass
class Case:
    """A misbehaving server, and the expected error and message."""

    name: str
    handler: Handler
    error: type[DownloadError]
    sentence: str
    limits: dict[str, Any] = field(default_factory=dict)


SOON = {"timeout": 1.5}
"""Timeout in seconds for servers that never respond; all others respond faster."""
SMALL = {"max_size": 1_000_000}
PRIVATE_HOSTS = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.1.2.3"]
CASES = [
    Case("closes at once", closing, InvalidResponse, "closed the connection without a response"),
    Case("closes after the request", answering(b""), InvalidResponse, "closed the connection without a response"),
    Case("resets", resetting, ServerUnreachable, "reset the connection"),
    Case("no answer", silent, FetchTimeout, "longer than 1.5 s; it was waiting for the response", SOON),
    Case("drips a head", dripping_head, FetchTimeout, "reading the headers", SOON),
    Case("drips a body", dripping_body, FetchTimeout, "reading the body, ", SOON),
    Case("not HTTP", answering(b"220 mail.example ESMTP\r\n"), InvalidResponse, "starts with “220 mail.example ESMTP”"),
    Case("page without a head", answering(b"<html>\x00\x01</html>"), InvalidResponse, "“<html>··</html>”"),
    Case("not HTTP, long", answering(b"z" * 500), InvalidResponse, f"“{'z' * 60}…”"),
    Case("one letter", answering(b"H"), NoStatusCode, "“H”"),
    Case("no code", answering(b"HTTP/1.1 OK\r\n\r\n"), NoStatusCode, "no status code: it starts with “HTTP/1.1 OK”"),
    Case("code of two digits", answering(b"HTTP/1.1 20 OK\r\n\r\n"), NoStatusCode, "no status code"),
    Case("code of four digits", answering(b"HTTP/1.1 2000 OK\r\n\r\n"), NoStatusCode, "no status code"),
    Case("code of zeros", answering(b"HTTP/1.1 000 OK\r\n\r\n"), NoStatusCode, "no status code"),
    Case("no code, waiting", then_waiting(b"HTTP/1.1 what\r\n"), NoStatusCode, "no status code"),
    Case("breaks off in the head", answering(OK + b"A: b\r\n"), InvalidResponse, "ended within its headers"),
    Case("a header of a megabyte", answering(OK + b"X: " + b"y" * 1_000_000), InvalidResponse, "larger than 262,144"),
    Case("headers without end", endless_headers, InvalidResponse, "headers are larger than 262,144 bytes"),
    Case("interim answers without end", endless_interim, InvalidResponse, "More than 20 interim responses"),
    Case("body without end", endless, BodyTooLarge, "larger than 1,000,000 bytes", SMALL),
    Case("body without end, in time", endless, FetchTimeout, "reading the body", SOON),
    Case("chunks without end", endless_chunks, BodyTooLarge, "larger than 1,000,000 bytes", SMALL),
    Case("trailer without end", endless_trailer, BodyTooLarge, "larger than 1,000,000 bytes", SMALL),
    Case("shorter than it says", answering(SIZED % 10 + b"abc"), TruncatedBody, "after 3 of 10 bytes"),
    Case(
        "longer than allowed",
        then_waiting(SIZED % 99 + b"x" * 50),
        BodyTooLarge,
        "larger than 9 bytes",
        {"max_size": 9},
    ),
    Case("two lengths", answering(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), InvalidResponse, "differ"),
    Case("chunks break off", answering(CHUNKED + b"5\r\nab"), TruncatedBody, "after 2 bytes, before its last chunk"),
    Case("chunk of no size", answering(CHUNKED + b"hello\r\n"), InvalidResponse, "“hello” is not a chunk size"),
    Case("chunk line without end", answering(CHUNKED + b"1;" + b"x" * 20_000), InvalidResponse, "longer than 16,384"),
]


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_misbehaving_server(case: Case, run: Runner[Any]) -> None:
    with RawServer(case.handler) as server:
        with pytest.raises(DownloadError) as caught:
            fetch(server.url, run, **case.limits)
        assert server.closed.wait(TIMEOUT_SECONDS), "the connection was not dropped"
    assert type(caught.value) is case.error
    assert case.sentence in str(caught.value)
    assert caught.value.state is case.error.state


PARTS = {
    "shorter than it says": (answering(SIZED % 10 + b"abc"), DocumentState.INVALID_RESPONSE, b"abc", b"abc"),
    "chunks break off": (answering(CHUNKED + b"5\r\nab"), DocumentState.INVALID_RESPONSE, b"5\r\nab", b"ab"),
    "resets in the body": (resetting_in_the_body, DocumentState.SYSTEM_ERROR, b"abc", b"abc"),
}


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize(("handler", "state", "raw", "body"), PARTS.values(), ids=PARTS)
def test_what_arrived_of_a_body_comes_with_the_error(
    handler: Handler, state: DocumentState, raw: bytes, body: bytes, run: Runner[Any]
) -> None:
    with RawServer(handler) as server, pytest.raises(TruncatedBody) as caught:
        fetch(server.url, run)
    assert caught.value.state is state
    part = caught.value.exchange
    assert part is not None
    assert (part.status, part.raw_body, part.body, part.truncated) == (200, raw, body, "disconnect")


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
def test_refused(run: Runner[Any]) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        with pytest.raises(ServerUnreachable, match=f"The server 127.0.0.1:{port} refused the connection."):
            fetch(f"http://127.0.0.1:{port}/", run)


@pytest.mark.parametrize("name", ["nowhere.invalid", "x" * 70 + ".invalid", "a..b.invalid"])
def test_name_that_does_not_resolve(name: str) -> None:
    with pytest.raises(ServerUnreachable, match="does not resolve") as caught:
        fetch(f"http://{name}/")
    assert caught.value.state == DocumentState.SYSTEM_ERROR


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "http:///path", "http://[::1/", "http://a:port/", "http://a:99999/", "http://a/ b"]
)
def test_address_that_cannot_be_asked(url: str) -> None:
    with pytest.raises(InvalidRequest):
        fetch(url)


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize("host", PRIVATE_HOSTS)
def test_private_address_is_never_connected_to(host: str, run: Runner[Any]) -> None:
    with RawServer(answering(OK + b"\r\n")) as server:
        with pytest.raises(PrivateAddress, match="private address") as caught:
            fetch(f"http://{host}:{server.port}/", run, client={"policy": EgressPolicy()}, timeout=2)
        assert server.peers == []
    assert caught.value.state == DocumentState.SERVER_NOT_ACCEPTED


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
def test_refusal_by_head_ends_the_transfer(run: Runner[Any]) -> None:
    def refuse(head: ResponseHead) -> None:
        raise RefusedByRule(DocumentState.TYPE_NOT_WANTED, f"{head.get(b'content-type')} is not wanted.", "TypeRule")

    with RawServer(then_waiting(OK + b"Content-Type: video/mp4\r\nContent-Length: 1000000\r\n\r\nabc")) as server:
        with pytest.raises(RefusedByRule, match="video/mp4 is not wanted") as caught:
            fetch(server.url, run, on_head=refuse)
        assert server.closed.wait(TIMEOUT_SECONDS)
    assert (caught.value.state, caught.value.rule) == (DocumentState.TYPE_NOT_WANTED, "TypeRule")


def test_a_body_that_never_ends_stays_small_in_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with RawServer(endless) as server, pytest.raises(BodyTooLarge):
        fetch(server.url, max_size=2_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open no more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.open(os.devnull, os.O_RDONLY)
    os.close(probe)
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_lack_of_open_files_is_not_the_fault_of_the_server(run: Runner[Any], host: str) -> None:
    async def main(url: str) -> None:
        client = HttpClient(policy=LOCAL)
        request = FetchRequest(url, timeout=TIMEOUT_SECONDS)
        with no_more_files(), pytest.raises(LocalResourceError, match=r"This process has \d+ files open") as raised:
            await client.fetch(request)
        assert raised.value.state == DocumentState.WAITING
        assert (await client.fetch(request)).status == 200
        await client.close()

    with Web({"/": Answer()}) as web:
        run(main(f"http://{host}:{web.port}/"))


def test_idle_connections_are_closed_when_files_are_short() -> None:
    async def main(first: str, second: str) -> None:
        client = HttpClient(policy=LOCAL)
        await client.fetch(FetchRequest(first, timeout=TIMEOUT_SECONDS))
        with no_more_files():
            assert len(client._pool) == 1
            with pytest.raises(LocalResourceError):
                await client.fetch(FetchRequest(second, timeout=TIMEOUT_SECONDS))
        assert len(client._pool) == 0
        await client.close()

    with Web({"/": Answer()}, ["127.0.0.1", "127.0.0.2"]) as web:
        asyncio.run(main(web.url(), web.url("/", "127.0.0.2")))


@pytest.mark.parametrize("number", [errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM, errno.ENFILE])
def test_what_this_machine_lacks_is_told_from_what_a_server_refuses(number: int) -> None:
    assert local_resource_error(OSError(number, "x")) is not None
    assert local_resource_error(OSError(errno.ECONNREFUSED, "x")) is None
