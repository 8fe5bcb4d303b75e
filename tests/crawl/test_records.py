"""Records and rows of unusual exchanges: incomplete bodies, equal bodies, another User-Agent, another URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from tarantula.core.config import Config
from tarantula.core.database import Database
from tests.sites import manners
from tests.sites.drawing import page
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import collect, describe, states
from tests.support.item_contents import bodies, documents, files, urns
from tests.support.pywb import ask, serving

CUT = manners.saying(manners.OK + manners.HTML + b'ETag: "a"\r\nContent-Length: 1000\r\n\r\n<p>So <a href="/found">far')
CUT_CHUNKS = manners.saying(manners.OK + manners.HTML + b"Transfer-Encoding: chunked\r\n\r\n9\r\n<p>So far\r\n9\r\n<p>")
WHOLE = Answer(page("Whole"))
TEXT = "Equal words on two pages. " * 40
EQUAL = Answer(f"<p>{TEXT}")


@pytest.fixture
def web() -> Iterator[Web]:
    paths = ["/cut", "/cut-chunks", "/cut-once", "/equal/1", "/equal/2", "/old/page"]
    routes: dict[str, Route] = {
        "/": Answer(page("Base", paths)),
        "/cut": CUT,
        "/cut-chunks": CUT_CHUNKS,
        "/cut-once": manners.first_then(CUT, WHOLE),
        "/found": WHOLE,
        "/equal/1": EQUAL,
        "/equal/2": EQUAL,
        "/old/page": Answer(page("Old")),
        "/new/page": Answer(page("New", ["next"])),
        "/new/next": Answer(page("Next")),
    }
    with Web(routes) as served:
        yield served


def records(config: Config, urn: str) -> list[tuple[str, str, Any]]:
    """Return type, URL and WARC fields of every record of an item."""
    found = []
    for path in files(config, urn):
        with path.open("rb") as file:
            found += [
                (one.rec_type, one.rec_headers["WARC-Target-URI"], one.rec_headers) for one in ArchiveIterator(file)
            ]
    return found


def test_rows_and_records_agree_about_unusual_exchanges(database: Database, config: Config, web: Web) -> None:
    settings = {
        "USER_AGENT": "Library/1.0",
        "DOWNLOADER_MIDDLEWARES": {"tests.support.faulty_components.Rewriting": 500},
    }
    describe(database, "odd", base_url=web.url(), settings=settings, robots=False)
    collect("odd")
    (urn,) = urns(database)
    rows = {url.removeprefix(web.url()): row for url, row in documents(database, urn).items()}
    written = records(config, urn)
    truncated = {url: fields["WARC-Truncated"] for kind, url, fields in written if kind == "response"}

    # An incomplete body is requested twice, and then kept as far as it came, without a validator for the next item.
    for path, body in (("cut", b'<p>So <a href="/found">far'), ("cut-chunks", b"<p>So far<p>")):
        assert (rows[path].state, rows[path].tries, rows[path].etag) == (200, 2, None)
        assert "What arrived is kept." in str(rows[path].reason)
        assert bodies(database, config, urn)[web.url("/" + path)] == body
        assert truncated[web.url("/" + path)] == "disconnect"
    assert (rows["cut-once"].state, rows["cut-once"].tries, rows["cut-once"].etag) == (200, 2, None)
    assert truncated[web.url("/cut-once")] is None
    assert rows["found"].state == 200

    # Of two equal bodies one is stored.
    first, second = (row for path, row in sorted(rows.items(), key=lambda one: one[1].id) if path.startswith("equal/"))
    assert (first.refers_to_id, second.refers_to_id) in ((None, first.id), (second.id, None))
    kinds = sorted(kind for kind, url, _ in written if "/equal/" in (url or ""))
    assert kinds == ["request", "request", "response", "revisit"]
    with serving(config.home) as port:
        for row in (first, second):
            answer, body = ask(port, f"/{urn}/{row.collected_at:%Y%m%d%H%M%S}id_/{row.url}")
            assert (answer.status, body) == (200, f"<p>{TEXT}".encode())

    # A URL that a middleware requests instead of another is a document of its own.
    assert (rows["old/page"].state, rows["old/page"].warc) == (-9, None)
    assert str(rows["old/page"].reason) == f"A component of the collector requests {web.url('/new/page')} instead."
    assert (rows["new/page"].state, rows["new/page"].via_id) == (200, rows["old/page"].id)
    assert rows["new/next"].state == 200
    stored = {row.url for row in rows.values() if row.warc is not None}
    assert {url for kind, url, _ in written if kind in ("response", "revisit")} == stored
    assert set(states(database).values()) == {200, -9}

    # The User-Agent that was sent.
    (warc,) = files(config, urn)
    with warc.open("rb") as file:
        info = next(iter(ArchiveIterator(file))).content_stream().read().decode()
    assert "http-header-user-agent: Library/1.0\r\n" in info
    assert all(b"\r\nUser-Agent: Library/1.0\r\n" in visit.head for visit in web.visits)
