"""Copied documents are complete: shown, converted, exported, and handed over when their source is removed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from sqlalchemy import select, update
from warcio.archiveiterator import ArchiveIterator

from tarantula.archive.diff.items import ItemComparison, UrlCounts
from tarantula.archive.export.exporter import ExportFormat, export_item
from tarantula.archive.mirror.conversion import convert_item
from tarantula.archive.quality.indicators import compute_indicators
from tarantula.archive.replay import ReplayContent, displayed_content
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.lifecycle.removal import remove_item
from tarantula.links.link import LinkKind
from tarantula.models import Document
from tarantula.services.documents import document_detail
from tarantula.store.cdxj import write_item_indexes
from tarantula.store.listings import find_item
from tests.support.incremental_items import chosen, prepare
from tests.support.item_lifecycles import change
from tests.support.monthly_items import BASE, Page, archive
from tests.support.pywb import ask, serving

JANUARY = datetime(2026, 1, 1, 12, tzinfo=UTC)
PAGES = {
    f"{BASE}plain.html": Page("<title>Plain</title><img src=logo.png>", links={f"{BASE}logo.png": LinkKind.REQUISITE}),
    f"{BASE}logo.png": Page(b"\x89PNG", "image/png"),
    f"{BASE}lost.css": Page("<p>No such style", state=404),
    f"{BASE}old": Page(state=301, headers=("Location: /plain.html",), links={f"{BASE}plain.html": LinkKind.REDIRECT}),
    f"{BASE}seen.html": Page("<script>draw()</script>", rendered=b"<title>Seen</title><p>Drawn by a browser"),
}


@pytest.fixture
def carried(database: Database, database_config: Config) -> tuple[str, str]:
    """The urns of an item and of a refresh item that copied it and made no visit."""
    first = archive(database_config, database, 1, PAGES, refresh=True, every="monthly")
    with database.session() as session:
        session.execute(update(Document).values(collected_at=JANUARY))
    second = prepare(database, database_config, "fcul", chosen({}))
    change(database, second, state=ItemState.ARCHIVED, started_at=JANUARY, finished_at=JANUARY)
    write_indexes(database, database_config, second)
    return first, second


def write_indexes(database: Database, config: Config, urn: str) -> None:
    with database.reading() as session:
        write_item_indexes(session, find_item(session, urn), config.items / urn)


def all_shown(database: Database, config: Config, urn: str) -> dict[str, ReplayContent | None]:
    with database.reading() as session:
        documents = session.scalars(select(Document).where(Document.item_id == find_item(session, urn).id))
        return {document.url: displayed_content(session, config.items, document) for document in documents}


def mirrored(database: Database, config: Config, urn: str) -> dict[str, bytes]:
    converted = convert_item(config, database, urn)
    assert converted.skipped == []
    folder = config.archived / urn
    ours = ("index.html", "report.json")
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ours)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_copied_documents_are_complete_and_stay_complete(
    database: Database, database_config: Config, carried: tuple[str, str]
) -> None:
    config, (first, second) = database_config, carried
    whole, copies = all_shown(database, config, first), mirrored(database, config, first)
    assert whole[f"{BASE}seen.html"] == ReplayContent(
        b"<title>Seen</title><p>Drawn by a browser", "text/html; charset=utf-8"
    )
    check(database, config, second, whole, copies)
    referred = config.items / second / "indexes" / "referred.cdxj"
    assert len(referred.read_text().splitlines()) == len(whole)
    with database.reading() as session:
        earlier, later = find_item(session, first), find_item(session, second)
        assert ItemComparison(session, earlier, later).summary().by_url == UrlCounts(0, 0, 4, 0, 0)
        before, after = compute_indicators(session, earlier), compute_indicators(session, later)
        assert (after.collected, after.bytes, after.requisites) == (before.collected, before.bytes, before.requisites)
        assert after.base.missing is False
    assert remove_item(config, database, first) == (0, [])
    assert not referred.exists()
    check(database, config, second, whole, copies)


def check(
    database: Database, config: Config, urn: str, whole: dict[str, ReplayContent | None], copies: dict[str, bytes]
) -> None:
    assert all_shown(database, config, urn) == whole
    assert mirrored(database, config, urn) == copies
    for form in ExportFormat:
        exported = export_item(config, database, urn, form, force=True)
        assert exported.problems == []
        assert exported.contents["records"] == len(whole)
        assert Path(exported.path).exists()
    with database.reading() as session:
        item = find_item(session, urn)
        page = session.scalars(
            select(Document).where(Document.item_id == item.id, Document.url == f"{BASE}plain.html")
        ).one()
        detail = document_detail(session, config.items, item, page.id)
        assert (detail.has_body, detail.is_revisit, detail.warc) == (True, True, None)
        assert detail.status_line == "HTTP/1.1 200 Such"


def test_an_export_has_the_rendered_pages(
    database: Database, database_config: Config, carried: tuple[str, str]
) -> None:
    exported = export_item(database_config, database, carried[1], ExportFormat.WACZ)
    assert exported.problems == []
    with ZipFile(exported.path) as package:
        files = [name for name in package.namelist() if "-referred-" in name]
        assert len(files) == 1
        with package.open(files[0]) as content:
            kinds = [(one.rec_type, one.rec_headers["WARC-Target-URI"]) for one in ArchiveIterator(content)]
    assert kinds.count(("conversion", f"{BASE}seen.html")) == 1
    assert sum(kind == "response" for kind, _ in kinds) == len(PAGES) + 1
    assert len(kinds) == 1 + len(PAGES) + 1 + 1


def test_pywb_replays_copied_documents(database: Database, database_config: Config, carried: tuple[str, str]) -> None:
    with serving(database_config.home) as port:
        for url, page in PAGES.items():
            answer, body = ask(port, f"/{carried[1]}/{JANUARY:%Y%m%d%H%M%S}id_/{url}")
            assert answer.status == page.state
            assert body == page.bytes
