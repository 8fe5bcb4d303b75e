"""Rows of WARC files: entered with the first documents that name a file, closed with its size and digest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import Connection, case, func, select, update
from sqlalchemy.orm import Session

from tarantula.core.states import ItemState
from tarantula.models import Item, WarcFile, WarcFileState
from tarantula.store.bulk import execute_rows
from tarantula.store.document_query import last_collected_at
from tarantula.store.warc_reader import end_of_record, open_record

_OPEN = "INSERT INTO warc_file (item_id, name, state, created_at) {rows} ON CONFLICT (item_id, name) DO NOTHING"
_OPEN_TYPES = ("integer", "text", "text", "timestamptz")
_REGISTER = (
    "INSERT INTO warc_file (item_id, name, state, created_at, size, sha256, records) {rows}"
    " ON CONFLICT (item_id, name) DO UPDATE SET state = excluded.state, size = excluded.size,"
    " sha256 = excluded.sha256, records = excluded.records"
)
_REGISTER_TYPES = (*_OPEN_TYPES, "bigint", "text", "integer")


READ_BACK_STATES = frozenset({WarcFileState.VERIFIED, WarcFileState.MISSING, WarcFileState.DAMAGED})
"""States of files that were read back since they were written."""
VERIFIABLE_STATES = frozenset({ItemState.CONVERTING, ItemState.ARCHIVED, ItemState.INTERRUPTED})
"""States of items whose files do not grow."""


class ReadBack(BaseModel):
    """How much of an item that is not verified yet was read back, file by file."""

    done: int
    """Bytes of the files that were read back since the last document was collected."""
    total: int
    """Bytes of all files; those of a file from an earlier version count when it was read."""


class FileSummary(NamedTuple):
    """Size, digest and number of records of a complete WARC file."""

    name: str
    size: int
    sha256: str
    """Hexadecimal."""
    records: int


def summarize_file(path: Path) -> FileSummary:
    """Read a whole WARC file and return its summary; raise DamagedRecord if it does not consist of complete records."""
    end = records = 0
    with open_record(path, 0) as file:
        digest = file_digest(file, "sha256").hexdigest()
        size = file.tell()
        while end < size:
            end = end_of_record(file, end)
            records += 1
    return FileSummary(path.name, size, digest, records)


def open_files(connection: Connection, item_id: int, names: Iterable[str]) -> None:
    """Insert rows of files that a collector has begun, in the transaction of the first rows that name them."""
    rows = [(item_id, name, WarcFileState.OPEN, datetime.now(UTC)) for name in names]
    execute_rows(connection, _OPEN, rows, _OPEN_TYPES)


def store_synced_size(connection: Connection, item_id: int, name: str, size: int) -> None:
    """Store how many bytes of an open file are synced to disk: after a power failure, only later ones are checked."""
    connection.execute(
        update(WarcFile)
        .where(WarcFile.item_id == item_id, WarcFile.name == name, WarcFile.state == WarcFileState.OPEN)
        .values(size=size)
    )


def register_files(connection: Connection, item_id: int, files: Iterable[FileSummary]) -> None:
    """Store the summaries of complete files that are synced to disk; insert the rows that are missing."""
    now = datetime.now(UTC)
    rows = [(item_id, one.name, WarcFileState.CLOSED, now, one.size, one.sha256, one.records) for one in files]
    execute_rows(connection, _REGISTER, rows, _REGISTER_TYPES)


def files_of_item(session: Session, item_id: int) -> Sequence[WarcFile]:
    """Return the files of an item, by name."""
    return session.scalars(select(WarcFile).where(WarcFile.item_id == item_id).order_by(WarcFile.name)).all()


def read_back(session: Session, items: Iterable[Item]) -> dict[int, ReadBack]:
    """Return how much of items that have to be verified was read back, by item id."""
    chosen = [item.id for item in items if item.verified_at is None and item.state in VERIFIABLE_STATES]
    if not chosen:
        return {}
    since = last_collected_at(WarcFile.item_id).scalar_subquery()
    is_read = (WarcFile.checked_at > since) & WarcFile.state.in_(READ_BACK_STATES)
    rows = session.execute(
        select(WarcFile.item_id, func.sum(case((is_read, WarcFile.size), else_=0)), func.sum(WarcFile.size))
        .where(WarcFile.item_id.in_(chosen))
        .group_by(WarcFile.item_id)
    )
    found = {number: ReadBack(done=int(done or 0), total=int(total or 0)) for number, done, total in rows}
    return {number: found.get(number, ReadBack(done=0, total=0)) for number in chosen}


def mark_file(
    connection: Connection,
    file_id: int,
    state: WarcFileState,
    summary: FileSummary | None = None,
    checked_at: datetime | None = None,
) -> None:
    """Set the state of a file; with a *summary* its size, digest and records, and with *checked_at* its last check."""
    values: dict[str, Any] = {"state": state}
    if summary is not None:
        values |= {"size": summary.size, "sha256": summary.sha256, "records": summary.records}
    if checked_at is not None:
        values["checked_at"] = checked_at
    connection.execute(update(WarcFile).where(WarcFile.id == file_id).values(values))
