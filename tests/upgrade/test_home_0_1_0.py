"""A home made by version 0.1.0 opens, migrates, replays, is searched and resumes.

``home-0.1.0.tar.gz`` has an archived item, validated; an item that ended at its deadline with 39 documents waiting; a
stream source with one event.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tarantula.core.config import Config
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, run

HOME = Path(__file__).with_name("home-0.1.0.tar.gz")
ARCHIVED, INTERRUPTED = "diario-20261118T014551", "lento-20261118T014615"
ADDRESS = ("127.77.0.1", 18077)
"""Where the site of the item was, and where it is again: the URLs are in the rows."""


@pytest.fixture
def home(config: Config) -> Path:
    with tarfile.open(HOME) as archive:
        archive.extractall(config.home, filter="data")
    return config.home


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
    assert items[ARCHIVED]["complete"] is True
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
