"""TLS connections and certificate errors."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from tarantula.fetch.exchange import FetchTimeout, ServerUnreachable
from tests.sites.certificates import certificate, server_context
from tests.sites.raw import Peer, RawServer, answering
from tests.support.fetches import RUNNERS, Runner, fetch
from tests.support.waits import TIMEOUT_SECONDS

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

runners = pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)


@runners
def test_protocol_and_cipher_are_told(run: Runner[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with RawServer(answering(HELLO), tls=server_context(path)) as server:
        got = fetch(server.url, run)
    assert got.body == b"hello"
    assert got.tls.startswith("TLSv1.3 TLS_")


@runners
@pytest.mark.parametrize(
    ("made", "trusted", "problem"),
    [
        ({}, False, "self-signed certificate"),
        ({"address": "127.0.0.2"}, True, "IP address mismatch"),
        ({"days": -1}, True, "certificate has expired"),
    ],
)
def test_wrong_certificate(
    made: dict[str, Any],
    trusted: bool,
    problem: str,
    run: Runner[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = certificate(tmp_path, **made)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with RawServer(answering(HELLO), tls=server_context(path)) as server:
        with pytest.raises(ServerUnreachable, match="its certificate is not accepted") as caught:
            fetch(server.url, run)
        assert problem in str(caught.value)
        assert fetch(server.url, run, client={"verify": False}).body == b"hello"


@runners
def test_a_server_that_does_not_speak_tls(run: Runner[Any]) -> None:
    def handler(peer: Peer) -> None:
        peer.write(HELLO)
        peer.wait()

    with RawServer(handler) as server, pytest.raises(ServerUnreachable, match="TLS failed: wrong version number"):
        fetch(server.url.replace("http:", "https:"), run)


@runners
def test_a_server_that_never_greets(run: Runner[Any]) -> None:
    with RawServer(Peer.wait) as server:
        with pytest.raises(FetchTimeout, match="it was connecting"):
            fetch(server.url.replace("http:", "https:"), run, timeout=0.5)
        assert server.closed.wait(TIMEOUT_SECONDS)


@runners
def test_only_old_protocols(run: Runner[Any], tmp_path: Path) -> None:
    context = server_context(certificate(tmp_path))
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        RawServer(answering(HELLO), tls=context) as server,
        pytest.raises(ServerUnreachable, match=r"TLS failed: .*version"),
    ):
        fetch(server.url, run, client={"verify": False})


@runners
def test_a_body_without_length_ends_without_a_good_bye(run: Runner[Any], tmp_path: Path) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.write(b"HTTP/1.0 200 OK\r\n\r\nhello")

    with RawServer(handler, tls=server_context(certificate(tmp_path))) as server:
        assert fetch(server.url, run, client={"verify": False}).body == b"hello"
