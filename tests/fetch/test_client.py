"""The client against real loopback servers."""

from __future__ import annotations

import asyncio
import gzip
from datetime import UTC, datetime
from typing import Any

import pytest

from tarantula.core.states import DocumentState
from tarantula.fetch.client import HttpClient
from tarantula.fetch.exchange import DownloadError, FetchRequest, InvalidResponse, RefusedByRule, ResponseHead
from tests.sites.raw import Handler, Peer, RawServer, answering, repeating, then_waiting
from tests.support.fetches import LOCAL, RUNNERS, Runner, fetch, fetch_all
from tests.support.waits import TIMEOUT_SECONDS, eventually_here

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
PAGE = b"<title>Ol\xe1</title>" * 20_000

runners = pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)


@runners
def test_the_bytes_are_kept_as_they_were_sent(run: Runner[Any]) -> None:
    head = (
        OK + b"sErVeR: caf\xe9\nContent-type:text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    )
    packed = gzip.compress(PAGE)
    wire = b"3\r\n%s\r\n%x;last\r\n%s\r\n0\r\n\r\n" % (packed[:3], len(packed) - 3, packed[3:])
    before = datetime.now(UTC)
    with RawServer(answering(head + wire)) as server:
        got = fetch(server.url + "a?b=c", run, headers=[(b"uSER-aGENT", b"T"), (b"From", b"a@b.pt")])
    assert (got.head, got.raw_body, got.body) == (head, wire, PAGE)
    assert (got.status, got.get(b"server"), got.address, got.tls, got.notes) == (200, "café", "127.0.0.1", "", ())
    assert got.headers[0] == (b"sErVeR", b"caf\xe9")
    assert before <= got.started_at <= datetime.now(UTC)
    assert 0 < got.latency <= got.duration < 5
    assert server.requests == [got.request]
    assert got.request == (
        b"GET /a?b=c HTTP/1.1\r\nHost: %s\r\nuSER-aGENT: T\r\nFrom: a@b.pt\r\nAccept-Encoding: gzip, deflate\r\n\r\n"
        % server.server.encode()
    )


@runners
def test_plain_bodies_are_one_object(run: Runner[Any]) -> None:
    with RawServer(answering(HELLO)) as server:
        got = fetch(server.url, run)
    assert got.body == b"hello"
    assert got.raw_body is got.body


def test_a_large_packed_body_is_unpacked_beside_the_loop() -> None:
    body = bytes(range(256)) * 20_000
    packed = gzip.compress(body, 0)
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with RawServer(answering(head + packed)) as server:
        assert fetch(server.url).body == body


def test_what_is_not_packed_as_promised_has_a_note() -> None:
    with RawServer(answering(OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello")) as server:
        got = fetch(server.url)
    assert (got.body, got.raw_body) == (b"hello", b"hello")
    assert "not gzip as declared" in str(got.notes[0])


def test_redirects_are_not_followed() -> None:
    with RawServer(answering(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")) as server:
        got = fetch(server.url)
        assert len(server.requests) == 1
    assert (got.status, got.get(b"location"), got.body) == (302, "/elsewhere", b"")


def test_the_head_is_shown_once_and_only_the_last() -> None:
    heads: list[ResponseHead] = []
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + HELLO
    with RawServer(answering(answer)) as server:
        got = fetch(server.url, on_head=heads.append)
    assert [(head.status, head.get(b"content-length"), head.url) for head in heads] == [(200, "5", got.url)]
    assert got.head == HELLO[:-5]


def test_old_server_without_a_length() -> None:
    with RawServer(answering(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"x" * 300_000)) as server:
        assert len(fetch(server.url).body) == 300_000


def test_a_body_that_drips_arrives() -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.drip([OK[:7], OK[7:] + b"Content-Le", b"ngth: 6\r\n\r", b"\nab", b"cd", b"ef"], 0.01)

    with RawServer(handler) as server:
        assert fetch(server.url).body == b"abcdef"


def test_post_sends_its_body() -> None:
    bodies = []

    def handler(peer: Peer) -> None:
        peer.read_request()
        bodies.append(peer.read_request())
        peer.write(HELLO)

    with RawServer(handler) as server:
        got = fetch(server.url, method="POST", body=b"a=1\r\n\r\n")
    assert b"\r\nContent-Length: 7\r\n\r\na=1" in got.request
    assert bodies == [b"a=1\r\n\r\n"]


@runners
def test_connections_are_used_again(run: Runner[Any]) -> None:
    with RawServer(repeating(HELLO)) as server:
        fetch_all([FetchRequest(server.url)] * 5, run)
        assert (len(server.peers), len(server.requests)) == (1, 5)


@pytest.mark.parametrize(
    "answer",
    [OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello", HELLO + b"excess", b"HTTP/1.0" + HELLO[8:]],
    ids=["close", "more than it says", "1.0"],
)
def test_connections_that_cannot_be_trusted_are_not(answer: bytes) -> None:
    with RawServer(repeating(answer)) as server:
        assert [got.body for got in fetch_all([FetchRequest(server.url)] * 2)] == [b"hello", b"hello"]
        assert len(server.peers) == 2


@runners
@pytest.mark.parametrize("handler", [answering(HELLO), answering(HELLO, b"")], ids=["at once", "when asked again"])
def test_a_connection_closed_while_it_rested_is_replaced(handler: Handler, run: Runner[Any]) -> None:
    async def main(url: str) -> list[bytes]:
        client = HttpClient(policy=LOCAL)
        try:
            first = await client.fetch(FetchRequest(url))
            await asyncio.sleep(0.05)
            return [first.body, (await client.fetch(FetchRequest(url))).body]
        finally:
            await client.close()

    with RawServer(handler) as server:
        assert run(main(server.url)) == [b"hello", b"hello"]
        assert len(server.peers) == 2


def test_a_connection_that_breaks_off_in_an_answer_is_not_replaced() -> None:
    with RawServer(answering(HELLO, b"HTTP/1.1 200")) as server:
        with pytest.raises(InvalidResponse, match="ended within its headers"):
            fetch_all([FetchRequest(server.url)] * 2)
        assert len(server.peers) == 1


def test_a_second_silence_is_an_error() -> None:
    def handler(peer: Peer) -> None:
        if len(server.peers) == 1 and peer.read_request():
            peer.write(HELLO)

    with RawServer(handler) as server, pytest.raises(DownloadError):
        fetch_all([FetchRequest(server.url)] * 2)


def test_a_refusal_comes_before_what_is_wrong_with_the_body() -> None:
    def refuse(head: ResponseHead) -> None:
        raise RefusedByRule(DocumentState.TYPE_NOT_WANTED, "Not wanted.")

    answer = OK + b"Transfer-Encoding: chunked\r\n\r\nnot chunks\r\n"
    with RawServer(answering(answer)) as server, pytest.raises(RefusedByRule):
        fetch(server.url, on_head=refuse)


def test_a_refused_body_that_is_here_already_leaves_the_connection_open() -> None:
    def refuse(head: ResponseHead) -> None:
        raise RefusedByRule(DocumentState.TOO_LARGE, "Too large.")

    async def main(url: str) -> None:
        client = HttpClient(policy=LOCAL)
        with pytest.raises(RefusedByRule):
            await client.fetch(FetchRequest(url, on_head=refuse))
        await client.fetch(FetchRequest(url))
        await client.close()

    with RawServer(repeating(HELLO)) as server:
        asyncio.run(main(server.url))
        assert len(server.peers) == 1


@runners
def test_a_cancelled_fetch_closes_its_connection(run: Runner[Any]) -> None:
    async def main(url: str) -> None:
        client = HttpClient(policy=LOCAL)
        fetching = asyncio.ensure_future(client.fetch(FetchRequest(url)))
        await eventually_here(lambda: server.requests)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        assert await asyncio.to_thread(server.closed.wait, TIMEOUT_SECONDS)
        await client.close()

    with RawServer(then_waiting(OK)) as server:
        run(main(server.url))


@runners
def test_idle_connections_are_bounded_and_end(run: Runner[Any]) -> None:
    async def main(urls: list[str]) -> list[int]:
        client, brief = (
            HttpClient(policy=LOCAL, max_idle=3, max_idle_per_server=2),
            HttpClient(policy=LOCAL, idle_seconds=0.1),
        )
        await asyncio.gather(*(client.fetch(FetchRequest(urls[0])) for _ in range(4)))
        sizes = [len(client._pool)]
        for url in urls:
            await client.fetch(FetchRequest(url))
        sizes.append(len(client._pool))
        await client.close()
        for url in urls:
            await brief.fetch(FetchRequest(url))
        await eventually_here(lambda: not len(brief._pool))
        await brief.close()
        return sizes

    with RawServer(repeating(HELLO)) as one, RawServer(repeating(HELLO)) as two, RawServer(repeating(HELLO)) as three:
        assert run(main([one.url, two.url, three.url])) == [2, 3]
        assert [len(server.peers) for server in (two, three)] == [2, 2]


def test_the_client_can_be_bound_to_an_address() -> None:
    addresses = []

    def handler(peer: Peer) -> None:
        addresses.append(peer.address)
        answering(HELLO)(peer)

    with RawServer(handler) as server:
        fetch(server.url, client={"bind_address": "127.0.0.9"})
    assert addresses == ["127.0.0.9"]
