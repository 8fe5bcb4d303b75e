"""An item's directory is a collection that pywb serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tarantula.store.cdxj import IndexRow, write_cdxj
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import ANSWERS
from tests.support.pywb import ask, serving

URN = "fcul-20260612T220000"


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
    write_cdxj(rows, item / "indexes" / "index.cdxj")
    return home


@pytest.fixture(scope="module")
def pywb(home: Path) -> Iterator[int]:
    with serving(home) as port:
        yield port


@pytest.mark.parametrize("name", ["identity", "gzip", "deflate", "chunked", "chunked gzip", "binary", "encrypted"])
def test_pywb_replays_collected_documents(pywb: int, name: str) -> None:
    sent = ANSWERS[name]
    answer, body = ask(pywb, f"/{URN}/20260612220001id_/{sent.url}")
    assert answer.status == 200
    assert body == sent.body
    assert "12 Jun 2026 22:00:01 GMT" in (answer.getheader("Memento-Datetime") or "")


def test_pywb_replays_a_redirect(pywb: int) -> None:
    answer, _ = ask(pywb, f"/{URN}/20260612220001id_/{ANSWERS['redirect with a body'].url}")
    assert answer.status == 302
    assert (answer.getheader("Location") or "").endswith("/new")
