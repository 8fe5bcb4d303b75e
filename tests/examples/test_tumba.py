"""The example of a search engine: documents are passed on as they are collected."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tarantula.core.database import Database
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.crawls import collect, describe, only_item, states

PIPELINES = {"examples.tumba.handing_over.HandingOver": 950}
READ_ALL = "import shutil, sys; shutil.copyfileobj(sys.stdin, open(sys.argv[1], 'w'))"
READ_ONE = "import sys; open(sys.argv[1], 'w').write(sys.stdin.readline())"


@pytest.fixture
def web() -> Iterator[Web]:
    routes = {
        "/": Answer(page("Faculdade", ["/1", "/2", "/lost"], images=["/logo.png"])),
        "/1": Answer("<title>Horário</title><p>Olá".encode("iso-8859-1"), "text/html; charset=iso-8859-1"),
        "/2": Answer("plain", "text/plain"),
        "/logo.png": Answer(b"\x89PNG\r\n\x1a\n", "image/png"),
    }
    with Web(routes) as served:
        yield served


def handed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_collected_document_is_passed_on(sqlite: Database, web: Web, tmp_path: Path) -> None:
    settings = {"ITEM_PIPELINES": PIPELINES, "TUMBA_COMMAND": [sys.executable, "-c", READ_ALL, str(tmp_path / "read")]}
    describe(sqlite, "tumba", base_url=web.url(), settings=settings)
    collect("tumba")
    rows = {row["url"].removeprefix(web.url("/")): row for row in handed(tmp_path / "read")}
    assert rows.keys() == {"", "1", "2", "logo.png"}
    assert rows["1"]["text"] == "Horário\nOlá"
    assert rows["2"]["text"] == "plain"
    assert rows["logo.png"]["text"] is None
    assert set(rows[""]["links"]) == {web.url(path) for path in ("/1", "/2", "/lost", "/logo.png")}
    assert {row["item"] for row in rows.values()} == {only_item(sqlite).urn}
    assert states(sqlite)[web.url("/lost")] == 404


def test_a_program_that_exits_loses_no_document(sqlite: Database, web: Web, tmp_path: Path) -> None:
    settings = {"ITEM_PIPELINES": PIPELINES, "TUMBA_COMMAND": [sys.executable, "-c", READ_ONE, str(tmp_path / "read")]}
    describe(sqlite, "tumba", base_url=web.url(), settings=settings)
    collect("tumba")
    assert [row["url"] for row in handed(tmp_path / "read")] == [web.url("/")]
    assert [states(sqlite)[web.url(path)] for path in ("/", "/1", "/2", "/logo.png")] == [200] * 4
    assert only_item(sqlite).state == "archived"
