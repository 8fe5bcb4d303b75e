"""An item's directory is a collection that pywb serves."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from socket import create_server

import pytest

from tarantula.store.cdxj import IndexRow, write_index
from tarantula.store.warc import WarcWriter
from tests.exchanges import ANSWERS
from tests.pywb_env import wayback

URN = "fcul-20260612T220000"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    item = home / "items" / URN
    rows = []
    with WarcWriter(item / "archive", URN, {}) as writer:
        for sent in ANSWERS.values():
            stored = writer.write(sent, b"<p>rendered")
            place = stored.digest, stored.length, stored.offset, stored.file
            rows.append(IndexRow(sent.url, sent.started_at, "text/html", sent.status, *place))
    write_index(rows, item / "indexes" / "index.cdxj")
    (home / "config.yaml").write_text("collections_root: items\n")
    return home


@pytest.fixture(scope="module")
def pywb(home: Path) -> Iterator[int]:
    with create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    log = (home / "pywb.log").open("wb")
    command: list[str | Path] = [wayback(), "--bind", "127.0.0.1", "--port", str(port), "--directory", home]
    with log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            wait_for(port, server)
            yield port
        finally:
            server.terminate()


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert server.poll() is None, "pywb ended"
        try:
            ask(port, "/")
        except ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("pywb does not answer")


def ask(port: int, path: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["identity", "gzip", "deflate", "chunked", "chunked gzip", "binary", "encrypted"])
def test_pywb_replays_what_was_collected(pywb: int, name: str) -> None:
    sent = ANSWERS[name]
    answer, body = ask(pywb, f"/{URN}/20260612220001id_/{sent.url}")
    assert answer.status == 200
    assert body == sent.body
    assert "12 Jun 2026 22:00:01 GMT" in (answer.getheader("Memento-Datetime") or "")


def test_pywb_replays_a_redirect(pywb: int) -> None:
    answer, _ = ask(pywb, f"/{URN}/20260612220001id_/{ANSWERS['redirect with a body'].url}")
    assert answer.status == 302
    assert (answer.getheader("Location") or "").endswith("/new")
