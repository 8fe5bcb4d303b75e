"""Rows of WARC files, from the first record to the closed file."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import select
from warcio.archiveiterator import ArchiveIterator

from tarantula.core.database import Database
from tarantula.models import WarcFile, WarcFileState
from tarantula.store.warc_files import (
    FileSummary,
    files_of_item,
    mark_file,
    open_files,
    register_files,
    summarize_file,
)
from tarantula.store.warc_reader import DamagedRecord
from tarantula.store.warc_writer import WarcWriter
from tests.store.test_documents import new_item
from tests.support.exchanges import ANSWERS


def count_records(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in ArchiveIterator(file))


def columns(database: Database) -> list[tuple[object, ...]]:
    with database.reading() as session:
        chosen = select(WarcFile.name, WarcFile.state, WarcFile.size, WarcFile.sha256, WarcFile.records)
        return [tuple(row) for row in session.execute(chosen.order_by(WarcFile.id))]


def test_the_writer_knows_size_digest_and_records_of_its_files(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "fcul", {}, max_size=3000) as writer:
        for sent in ANSWERS.values():
            writer.write(sent)
            writer.flush()
    paths = sorted(tmp_path.iterdir())
    assert len(paths) > 2
    assert writer.opened == [path.name for path in paths]
    expected = [
        FileSummary(path.name, path.stat().st_size, sha256(path.read_bytes()).hexdigest(), count_records(path))
        for path in paths
    ]
    assert writer.closed == expected
    assert [summarize_file(path) for path in paths] == expected


@pytest.mark.parametrize("cut", [1, 5])
def test_a_file_that_ends_within_a_record_has_no_summary(tmp_path: Path, cut: int) -> None:
    with WarcWriter(tmp_path, "fcul", {}) as writer:
        name = writer.write(ANSWERS["identity"]).file
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DamagedRecord, match=r"has no complete record at offset \d+: the file ends there"):
        summarize_file(path)
    path.write_bytes(path.read_bytes() + bytes(50))
    with pytest.raises(DamagedRecord, match=r"has no complete record at offset \d+: Error"):
        summarize_file(path)


def test_a_row_is_opened_closed_and_marked(database: Database) -> None:
    item = new_item(database)
    with database.engine.begin() as connection:
        open_files(connection, item, ["a.warc.gz", "b.warc.gz"])
        # As after a transaction whose commit was not confirmed.
        open_files(connection, item, ["a.warc.gz"])
    assert columns(database) == [("a.warc.gz", "open", None, None, None), ("b.warc.gz", "open", None, None, None)]
    with database.engine.begin() as connection:
        register_files(connection, item, [FileSummary("a.warc.gz", 10, "00", 3), FileSummary("c.warc.gz", 4, "11", 1)])
    assert columns(database) == [
        ("a.warc.gz", "closed", 10, "00", 3),
        ("b.warc.gz", "open", None, None, None),
        ("c.warc.gz", "closed", 4, "11", 1),
    ]
    moment = datetime(2026, 11, 18, tzinfo=UTC)
    with database.session() as session:
        first, second, _ = files_of_item(session, item)
        mark_file(session.connection(), first.id, WarcFileState.MISSING)
        mark_file(session.connection(), second.id, WarcFileState.VERIFIED, FileSummary("b.warc.gz", 7, "22", 2), moment)
    with database.reading() as session:
        files = [(one.name, one.state, one.size, one.checked_at) for one in files_of_item(session, item)]
    assert files == [
        ("a.warc.gz", "missing", 10, None),
        ("b.warc.gz", "verified", 7, moment),
        ("c.warc.gz", "closed", 4, None),
    ]
