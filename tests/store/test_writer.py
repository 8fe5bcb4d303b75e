"""The writer thread: groups, futures, and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import as_reason
from tarantula.items import FrontierEntry
from tarantula.models import Document, LinkRow, WarcFile
from tarantula.store.captures import capture_of
from tarantula.store.commit_group import CommitResult, FinishedDocument, RefillRequest
from tarantula.store.documents import DocumentOutcome, DocumentTable
from tarantula.store.leases import ItemLeases
from tarantula.store.warc_files import summarize_file
from tarantula.store.warc_reader import read_record
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tarantula.store.writer import DepthUpdater, RowWriter, StoredBodies, Writer
from tests.store.test_documents import found, new_item, state_of
from tests.support.exchanges import ANSWERS

Scenario = Callable[[Writer, list[FrontierEntry]], Awaitable[None]]


@pytest.fixture
def run(database: Database, tmp_path: Path) -> Callable[[Scenario], Writer]:
    """Run a coroutine with a writer, and close the writer afterwards."""

    def run_scenario(scenario: Scenario) -> Writer:
        async def main() -> Writer:
            item = new_item(database)
            table, leases = DocumentTable(item), ItemLeases(item)
            rows = RowWriter(table, leases, DepthUpdater(table, lambda entry, links: []), window=1000)
            waiting: list[FrontierEntry] = []
            with database.engine.begin() as connection:
                rows.open_first(connection)
            warc = WarcWriter(tmp_path / "archive", "fcul-1", {"software": "test"})

            def listen(news: CommitResult) -> None:
                waiting.extend(news.waiting)
                waiting.extend(entry for opened in news.opened for entry in opened.entries)

            writer = Writer(
                database.engine, rows, warc, asyncio.get_running_loop(), listen, bodies=StoredBodies("fcul-1")
            )
            writer.start()
            try:
                await scenario(writer, waiting)
            finally:
                writer.close()
            return writer

        return asyncio.run(main())

    return run_scenario


def finished(identity: int = 1, urls: tuple[str, ...] = ()) -> FinishedDocument:
    rows = [found(url) for url in urls]
    links = {row.key: row.kind for row in rows}
    return FinishedDocument(
        DocumentOutcome(identity, 200, reason=as_reason("OK.")), exchange=ANSWERS["identity"], found=rows, links=links
    )


def test_a_document_its_bytes_and_its_links_are_stored_together(
    run: Callable[[Scenario], Writer], database: Database, tmp_path: Path
) -> None:
    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.finish(finished(urls=("http://h/a", "http://h/b")))
        assert sorted(entry.url for entry in waiting) == ["http://h/a", "http://h/b"]

    run(scenario)
    with database.session() as session:
        row = session.get_one(Document, 1)
        assert row.state == 200
        assert row.warc is not None
        assert row.warc_offset is not None
        record = read_record(tmp_path / "archive" / row.warc, row.warc_offset)
        assert record.raw_body == ANSWERS["identity"].body
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 2


def test_a_file_has_a_row_from_its_first_document_on(
    run: Callable[[Scenario], Writer], database: Database, tmp_path: Path
) -> None:
    def files() -> list[tuple[object, ...]]:
        with database.reading() as session:
            chosen = select(WarcFile.item_id, WarcFile.state, WarcFile.name, WarcFile.size, WarcFile.sha256)
            return [tuple(row) for row in session.execute(chosen.add_columns(WarcFile.records))]

    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found("http://h/a")])
        assert files() == []
        await writer.finish(finished())
        # Of an open file, the size that is synced to disk.
        (path,) = (tmp_path / "archive").iterdir()
        assert files() == [(1, "open", path.name, path.stat().st_size, None, None)]

    run(scenario)
    (path,) = (tmp_path / "archive").iterdir()
    name, size, digest, records = summarize_file(path)
    assert files() == [(1, "closed", name, size, digest, records)]
    assert records == 3


def test_equal_bodies_are_stored_once(run: Callable[[Scenario], Writer], database: Database, tmp_path: Path) -> None:
    urls = [f"http://h/{number}" for number in range(7)]

    def same(entry: FrontierEntry, state: int = 200, **outcome: object) -> FinishedDocument:
        sent = replace(ANSWERS["identity"], url=entry.url)
        values = {"size": len(sent.body), "type": "text/html", "collected_at": sent.started_at, **outcome}
        return FinishedDocument(DocumentOutcome(entry.id, state, **values), exchange=sent)  # type: ignore[arg-type]

    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found(url) for url in urls])
        first, in_group, later, other_type, other_state, small, rendered = waiting
        await asyncio.gather(writer.finish(same(first)), writer.finish(same(in_group)))
        await writer.finish(same(later))
        await writer.finish(same(other_type, type="text/plain"))
        await writer.finish(same(other_state, 404))
        await writer.finish(FinishedDocument(DocumentOutcome(small.id, 200), exchange=ANSWERS["redirect"]))
        seen = same(rendered)
        seen.rendered = b"<p>seen"
        await writer.finish(seen)

    run(scenario)
    with database.reading() as session:
        rows = session.scalars(select(Document).where(Document.url != "http://h/").order_by(Document.id)).all()
        first, *others = rows
        assert [row.refers_to_id for row in others] == [first.id, first.id, None, None, None, None]
        assert first.refers_to_id is None
        for row in (first, *others[:2]):
            capture = capture_of(session, tmp_path, row)
            assert capture is not None
            assert (capture.path.name, capture.offset) == (first.warc, first.warc_offset)
            record = read_record(tmp_path / "archive" / (row.warc or ""), row.warc_offset or 0)
            assert record.fields["WARC-Target-URI"] == row.url
            assert record.fields["WARC-Type"] == ("response" if row is first else "revisit")
            assert record.fields.get("WARC-Refers-To-Target-URI") == (None if row is first else first.url)


def page_at(entry: FrontierEntry, body: bytes = b"<p>A page</p>" * 50) -> FinishedDocument:
    sent = replace(ANSWERS["identity"], url=entry.url, raw_body=body, body=body)
    values = {"size": len(body), "type": "text/html", "collected_at": sent.started_at}
    return FinishedDocument(DocumentOutcome(entry.id, 200, **values), exchange=sent)  # type: ignore[arg-type]


def bodies_of(database: Database, folder: Path) -> dict[str, bytes]:
    """Return the stored bodies by URL; raise an error for a document whose body cannot be found."""
    with database.reading() as session:
        documents = session.scalars(select(Document).where(Document.state == 200, Document.warc.is_not(None)))
        captures = {one.url: capture_of(session, folder, one) for one in documents}
        return {
            url: read_record(folder / "archive" / one.path.name, one.offset).raw_body
            for url, one in captures.items()
            if one is not None
        }


def test_a_document_that_is_collected_twice_keeps_its_first_capture(
    run: Callable[[Scenario], Writer], database: Database, tmp_path: Path
) -> None:
    """As after an outage, when a collector gets a server back that it had lost with documents not yet stored."""

    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found("http://h/a"), found("http://h/b")])
        first, second = waiting
        await writer.finish(page_at(first))
        writer.started(first)
        again = page_at(first)
        again.links = {b"k" * 16: 1}
        await writer.finish(again)
        await writer.finish(page_at(first, b"<p>Another page</p>" * 50))
        await writer.finish(page_at(second))

    run(scenario)
    page = b"<p>A page</p>" * 50
    assert bodies_of(database, tmp_path) == {"http://h/a": page, "http://h/b": page}
    with database.reading() as session:
        first, second = session.scalars(select(Document).where(Document.url != "http://h/").order_by(Document.id))
        assert (first.state, first.refers_to_id, second.refers_to_id) == (200, None, None)
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 0


def test_a_body_that_another_collector_has_stored_is_not_referred_to(
    run: Callable[[Scenario], Writer], database: Database, tmp_path: Path
) -> None:
    """Another collector took the server over, and stored another body: nothing may refer to the one that has no row."""

    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found(f"http://h/{name}") for name in "abc"])
        first, in_group, later = waiting
        with database.session() as session:
            row = session.get_one(Document, first.id)
            row.state, row.digest, row.warc, row.warc_offset = 200, "sha1:OTHER", "other.warc.gz", 0
        await asyncio.gather(writer.finish(page_at(first)), writer.finish(page_at(in_group)))
        await writer.finish(page_at(later))

    run(scenario)
    with database.reading() as session:
        first, in_group, later = session.scalars(
            select(Document).where(Document.url != "http://h/").order_by(Document.id)
        )
        assert (first.state, first.warc, first.digest) == (200, "other.warc.gz", "sha1:OTHER")
        # Its record is a reference: it is collected again.
        assert (in_group.state, in_group.warc, in_group.refers_to_id) == (-6, None, None)
        assert (later.state, later.refers_to_id) == (200, None)
        assert later.warc is not None


def test_only_the_last_bodies_are_remembered() -> None:
    bodies = StoredBodies("fcul-1", most=2)

    def document(number: int) -> FinishedDocument:
        return FinishedDocument(DocumentOutcome(number, 200), exchange=ANSWERS["identity"])

    for number, digest in ((1, "a"), (2, "b"), (3, "a"), (4, "c")):
        if bodies.find(document(number), digest) is None:
            bodies.add(document(number), StoredRecord("a.warc.gz", 0, 1, digest), None)
    known = {digest: bodies.find(document(9), digest) for digest in "abc"}
    assert {digest: capture and capture.id for digest, capture in known.items()} == {"a": 1, "b": None, "c": 4}


def test_simultaneous_work_is_one_group(run: Callable[[Scenario], Writer]) -> None:
    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found(f"http://h/{number}") for number in range(200)])
        await asyncio.gather(*(writer.finish(FinishedDocument(DocumentOutcome(entry.id, 404))) for entry in waiting))

    assert run(scenario).groups < 100


def test_the_state_is_collecting_in_the_meantime(run: Callable[[Scenario], Writer], database: Database) -> None:
    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found("http://h/slow")])
        writer.started(waiting[0])
        await writer.refill(RefillRequest("h", frozenset(), 10))
        assert state_of(database, "http://h/slow") == 0

    run(scenario)


def test_a_refill_returns_waiting_documents_that_are_not_held(run: Callable[[Scenario], Writer]) -> None:
    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        await writer.discover([found(f"http://h/{number}") for number in range(5)])
        entries = await writer.refill(RefillRequest("h", {waiting[0].id, 1}, 10))
        assert {entry.id for entry in entries} == {entry.id for entry in waiting[1:]}

    run(scenario)


def test_a_database_error_stops_the_writer_with_a_message(
    run: Callable[[Scenario], Writer], database: Database
) -> None:
    def rename(table: str, name: str) -> None:
        with database.engine.begin() as connection:
            connection.execute(text(f"ALTER TABLE {table} RENAME TO {name}"))

    async def scenario(writer: Writer, waiting: list[FrontierEntry]) -> None:
        rename("link", "taken_away")
        for _ in range(2):
            with pytest.raises(TarantulaError, match=r"The database rejected the collected data \(.*link.*\)"):
                await writer.finish(finished(urls=("http://h/a",)))

    assert run(scenario).failure is not None
    # The next test may use the same database.
    rename("taken_away", "link")
    assert state_of(database, "http://h/") == -6
