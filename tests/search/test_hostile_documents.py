"""Documents that would stop the index: they are skipped and recorded, and the others are indexed."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from sqlalchemy import func, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.limited_worker import MEMORY_SETTING, SECONDS_SETTING, ParserLimitError, close_workers
from tarantula.fetch.exchange import Exchange
from tarantula.lifecycle.removal import remove_item
from tarantula.models import ReadText, SkippedText
from tarantula.search.index.updater import IndexUpdater, request_rereading
from tarantula.search.texts.content import IN_PROCESS_BYTES, extract_text
from tarantula.store.document_query import skipped_documents
from tests.search.test_index_updater import LIBRARY, catch_up, find, tell, urls
from tests.support.archived_items import BASE, archive
from tests.support.command_result import Tarantula
from tests.support.exchanges import answer, exchange
from tests.support.hostile_documents import huge_stream_pdf, looping_pdf, root_attributes

GENEROUS_SECONDS = 60.0
MOST_GROWTH_BYTES = 400_000_000


def document(path: str, media_type: str, body: bytes) -> Exchange:
    return exchange(BASE + path, answer(f"Content-Type: {media_type}"), body)


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    close_workers()
    monkeypatch.setenv(SECONDS_SETTING, "4")
    monkeypatch.setenv(MEMORY_SETTING, "300")
    yield
    close_workers()


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/pdf", huge_stream_pdf()),
        ("application/pdf", looping_pdf()),
        ("text/html", root_attributes()),
        ("text/html", root_attributes(3_000) + b" " * IN_PROCESS_BYTES),
        ("text/html", b"<h1>texto" * 100_000),
    ],
    ids=["huge stream", "looping pages", "attributes of the root", "some attributes of the root", "nested headings"],
)
def test_time_and_memory_are_bounded(media_type: str, body: bytes) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with suppress(ParserLimitError):
        extract_text(body, media_type, BASE, None)
    assert time.monotonic() - began < GENEROUS_SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_GROWTH_BYTES


def test_the_small_pdf_exceeds_the_limits() -> None:
    body = huge_stream_pdf()
    assert len(body) < 400_000
    with pytest.raises(ParserLimitError):
        extract_text(body, "application/pdf", BASE, None)


def test_large_pages_have_the_same_text_in_a_worker() -> None:
    page = "<title>Título</title><h1>Cabeça</h1><p>Os cursos da faculdade e os laboratórios.<a href=/x>Ligação</a>"
    small = extract_text(page.encode(), "text/html", BASE, "utf-8")
    large = extract_text((page + "<!--" + "x" * IN_PROCESS_BYTES + "-->").encode(), "text/html", BASE, "utf-8")
    assert small is not None
    assert large == small


def test_the_next_document_is_indexed_also_after_a_restart(database: Database, config: Config) -> None:
    hostile = document("a.pdf", "application/pdf", huge_stream_pdf())
    urn = archive(database, config, [hostile, LIBRARY])
    tell(database, urn)
    updater = IndexUpdater(config, database)
    catch_up(updater)
    assert urls(find(updater, "biblioteca")) == ["biblioteca"]
    assert updater.unreadable == 1
    ((url, reason),) = updater.stopped
    assert (url, reason.code in ("parser_time", "parser_memory", "parser_died")) == (hostile.url, True)
    updater.index.close()

    # After a restart it is not parsed again, and newly collected documents are indexed.
    tell(database, urn)
    again = IndexUpdater(config, database)
    began = time.monotonic()
    catch_up(again)
    assert time.monotonic() - began < 4
    assert urls(find(again, "biblioteca")) == ["biblioteca"]
    assert (again.unreadable, again.stopped) == (1, [])
    with database.reading() as session:
        assert [(one.urn, one.url, one.reason) for one in skipped_documents(session)] == [(urn, hostile.url, reason)]
        assert session.scalar(select(func.count()).select_from(ReadText)) == 1
    again.index.close()

    request_rereading(database)
    with database.reading() as session:
        assert skipped_documents(session) == []
    last = IndexUpdater(config, database)
    catch_up(last)
    assert len(last.stopped) == 1
    remove_item(config, database, urn)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(SkippedText)) == 0


def test_the_command_lists_what_was_skipped(sqlite: Database, sqlite_config: Config, tarantula: Tarantula) -> None:
    urn = archive(sqlite, sqlite_config, [document("a.pdf", "application/pdf", huge_stream_pdf()), LIBRARY])
    tell(sqlite, urn)
    done = tarantula("index")
    assert done.code == 3
    assert f"{BASE}a.pdf: Its parser" in done.out.replace("\n", " ")
    assert f"{urn} {BASE}a.pdf: Its parser" in tarantula("index", "--skipped").out
    (row,) = json.loads(tarantula("index", "--skipped", "--json").out)
    assert (row["urn"], row["url"]) == (urn, BASE + "a.pdf")
    assert row["reason_code"].startswith("parser_")
