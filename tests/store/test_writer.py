"""The writer thread: groups, futures, and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.items import FrontierEntry
from tarantula.models import Document, LinkRow
from tarantula.store.commit_group import CommitResult, FinishedDocument, RefillRequest
from tarantula.store.documents import DocumentOutcome, DocumentTable
from tarantula.store.leases import ItemLeases
from tarantula.store.warc_reader import read_record
from tarantula.store.warc_writer import WarcWriter
from tarantula.store.writer import DepthUpdater, RowWriter, Writer
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

            writer = Writer(database.engine, rows, warc, asyncio.get_running_loop(), listen)
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
        DocumentOutcome(identity, 200, reason="OK."), exchange=ANSWERS["identity"], found=rows, links=links
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
