"""Fetches through a proxy."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import FetchRequest, InvalidRequest, PrivateAddress, ServerUnreachable
from tarantula.fetch.request import parse_proxy
from tests.sites.certificates import certificate, server_context
from tests.sites.raw import Peer, RawServer, answering, repeating
from tests.support.fetches import RUNNERS, Runner, fetch, fetch_all

GUARDING = EgressPolicy(proxy_guards=True)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

runners = pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)


def tunnel(peer: Peer) -> None:
    """Accept CONNECT, and relay bytes in both directions."""
    host, _, port = peer.read_request().split()[1].decode().rpartition(":")
    peer.write(b"HTTP/1.0 200 Connection established\r\n\r\n")
    with socket.create_connection((host, int(port))) as onward:
        peer.join(onward)


@runners
def test_plain_requests_name_the_whole_address(run: Runner[Any]) -> None:
    with RawServer(repeating(HELLO)) as proxy:
        got = fetch(
            "http://example.invalid/a?b", run, proxy=f"http://me:p%40ss@{proxy.server}", client={"policy": GUARDING}
        )
    assert got.body == b"hello"
    assert got.request.startswith(b"GET http://example.invalid/a?b HTTP/1.1\r\nHost: example.invalid\r\n")
    assert b"Proxy-Authorization" not in got.request
    assert b"\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in proxy.requests[0]


@runners
def test_encrypted_requests_pass_through_a_tunnel(run: Runner[Any], tmp_path: Path) -> None:
    with RawServer(answering(HELLO), tls=server_context(certificate(tmp_path))) as server, RawServer(tunnel) as proxy:
        got = fetch(
            server.url,
            run,
            proxy=proxy.server,
            headers=[(b"Proxy-Authorization", b"Basic eA=="), (b"A", b"b")],
            client={"verify": False},
        )
        assert (got.body, got.tls[:7]) == (b"hello", "TLSv1.3")
        assert server.requests == [got.request]
        assert b"Proxy-Authorization" not in got.request
        assert proxy.requests == [
            b"CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic eA==\r\n\r\n"
            % (server.server.encode(), server.server.encode())
        ]


def test_a_proxy_that_refuses() -> None:
    answer = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with (
        RawServer(answering(answer)) as proxy,
        pytest.raises(ServerUnreachable, match="The proxy answered 407"),
    ):
        fetch("https://example.invalid/", proxy=proxy.url, client={"policy": GUARDING})


def test_a_private_address_is_not_asked_of_a_proxy() -> None:
    with RawServer(repeating(HELLO)) as proxy:
        for policy in (EgressPolicy(), GUARDING):
            for address in ("169.254.169.254", "10.0.0.5", "[::ffff:10.0.0.5]"):
                with pytest.raises(PrivateAddress):
                    fetch(f"http://{address}/", proxy=proxy.url, client={"policy": policy})
        requests = [FetchRequest("http://8.8.8.8/", proxy=proxy.url), FetchRequest("http://10.0.0.5/", proxy=proxy.url)]
        # A connection to the proxy that is open already permits nothing more.
        with pytest.raises(PrivateAddress):
            fetch_all(requests, policy=EgressPolicy())
    assert [request.split(b" ")[1] for request in proxy.requests] == [b"http://8.8.8.8/"]


def test_names_are_checked_before_a_proxy_gets_them_unless_it_guards() -> None:
    with RawServer(repeating(HELLO)) as proxy:
        with pytest.raises(PrivateAddress, match=r"localhost is at the private address 127\.0\.0\.1"):
            fetch("http://localhost/", proxy=proxy.url, client={"policy": EgressPolicy()})
        with pytest.raises(ServerUnreachable, match="set TARANTULA_PROXY_GUARDS=1"):
            fetch("http://example.invalid/", proxy=proxy.url, client={"policy": EgressPolicy()})
        assert proxy.requests == []
        assert fetch("http://example.invalid/", proxy=proxy.url, client={"policy": GUARDING}).body == b"hello"


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:1", "https://127.0.0.1:1", "http://:80", "http://a:port"])
def test_proxies_that_cannot_be_used(url: str) -> None:
    with pytest.raises(InvalidRequest, match="The proxy"):
        parse_proxy(url)
