"""Hand-over: WARC records of an item that later items refer to are copied into the oldest of these items.

Records are copied into new files, which are synced to disk and renamed before any row names them. Rows follow in short
transactions, so an interrupted hand-over is continued by doing it again: records with a new location are skipped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sqlalchemy import Select, delete, func, insert, select, union
from sqlalchemy.orm import Session, aliased

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.core.files import sync_path
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of
from tarantula.models import BodyDamage, Document, InheritedRecord, Item
from tarantula.store.bulk import chunks
from tarantula.store.cdxj import REFERRING_TABLES, write_item_indexes
from tarantula.store.errors import write_errors
from tarantula.store.homes import check_home
from tarantula.store.warc_check import DamagedFile, StoredPosition, check_record
from tarantula.store.warc_files import files_of_item, register_files, summarize_file
from tarantula.store.warc_reader import DamagedRecord, copy_bytes, end_of_record, open_record, unreadable_record

RECORDS_PER_QUERY = 1000
ROWS_PER_TRANSACTION = 1000
MAX_UNFINISHED_RECORDS = 20_000
"""Copied records whose rows are not written yet: they are in memory, and copied again after an interruption."""
MAX_MESSAGES = 100
LOST_BODY = "missing"
"""Problem of a body whose only record was removed."""

_COLUMNS = tuple(column.name for column in InheritedRecord.__table__.columns)


class ReferredRecord(NamedTuple):
    """A record of the item to be removed, and the items that refer to it."""

    row: Any
    """The columns of `InheritedRecord`, at the present location."""
    referrers: dict[int, int]
    """Number of referring documents and visits, by item id."""
    is_handed_over: bool
    """Whether a later item has a copy already."""
    is_inherited: bool
    """Whether the item itself has it from another item."""

    @property
    def receiver_id(self) -> int:
        """The oldest item that refers to it."""
        return min(self.referrers)


@dataclass(slots=True)
class HandoverCheck:
    """Records that other items refer to, and which of them cannot be read."""

    referred: int = 0
    unreadable: int = 0
    files: Counter[str] = field(default_factory=Counter)
    """Number of unreadable records by file."""
    items: Counter[int] = field(default_factory=Counter)
    """Number of documents and visits that refer to unreadable records, by item id."""
    example: str = ""
    """Message of the first unreadable record."""
    messages: list[str] = field(default_factory=list)
    """The URLs of the first unreadable records, and why each cannot be read; at most `MAX_MESSAGES`."""
    moved: int = 0
    """Number of inherited records that got another item."""

    def add_unreadable(self, record: ReferredRecord, path: Path, error: DamagedRecord) -> None:
        """Count an unreadable record."""
        self.unreadable += 1
        self.files[str(path)] += 1
        self.items.update(record.referrers)
        self.example = self.example or str(error)
        if len(self.messages) < MAX_MESSAGES:
            self.messages.append(f"{record.row.url}: {error}")


def check_referred_records(installation: Config, database: Database, item: Item) -> HandoverCheck:
    """Read every record of an item that others refer to and that has no copy yet."""
    check = HandoverCheck()
    for batch in referred_records(database, item):
        check.referred += len(batch)
        for path, records in _by_file(installation, item, batch):
            for record in records:
                try:
                    with open_record(path, record.row.warc_offset) as source:
                        _ends(source, record.row)
                except DamagedRecord as error:
                    check.add_unreadable(record, path, error)
    return check


def referred_records(database: Database, item: Item) -> Iterator[list[ReferredRecord]]:
    """Yield the records of an item that others refer to in batches, in order of document ids."""
    for source in (InheritedRecord, Document):
        for ids in _ids_with_record(database, source, item.id):
            with database.reading() as session:
                yield _referred_batch(session, source, item.id, ids)


def _ids_with_record(database: Database, source: Any, item_id: int) -> Iterator[list[int]]:
    with database.reading() as session:
        first, last = session.execute(
            select(func.min(source.id), func.max(source.id)).where(source.item_id == item_id)
        ).one()
    # The sum prevents use of the item index, which would sort all documents of the item for every batch.
    of_item = select(source.id).where(source.item_id + 0 == item_id, source.warc.is_not(None))
    while first is not None:
        with database.reading() as session:
            some = of_item.where(source.id.between(first, last)).order_by(source.id).limit(RECORDS_PER_QUERY)
            ids = list(session.scalars(some))
        if ids:
            yield ids
        first = ids[-1] + 1 if len(ids) == RECORDS_PER_QUERY else None


def _referred_batch(session: Session, source: Any, item_id: int, ids: list[int]) -> list[ReferredRecord]:
    referrers: dict[int, Counter[int]] = {}
    for one in REFERRING_TABLES:
        for number, other, count in session.execute(_referrers(source, one, item_id, ids)):
            referrers.setdefault(number, Counter())[other] += count
    given: set[int] = set()
    if source is not InheritedRecord:
        copies = select(InheritedRecord.id).join(Item, Item.id == InheritedRecord.item_id)
        copies = copies.where(InheritedRecord.id.in_(list(referrers)), Item.state != ItemState.REMOVING)
        given.update(session.scalars(copies))
    rows = session.execute(
        select(*(getattr(source, name) for name in _COLUMNS)).where(source.id.in_(list(referrers))).order_by(source.id)
    )
    return [ReferredRecord(row, referrers[row.id], row.id in given, source is InheritedRecord) for row in rows]


def _referrers(source: Any, one: Any, item_id: int, ids: list[int]) -> Select[Any]:
    other = aliased(one)
    return (
        select(source.id, other.item_id, func.count())
        .select_from(source)
        .join(other, other.refers_to_id == source.id)
        .join(Item, Item.id == other.item_id)
        .where(source.id.in_(ids), other.item_id != item_id, other.digest == source.digest)
        # An item that is being removed needs nothing any more.
        .where(Item.state != ItemState.REMOVING)
        .group_by(source.id, other.item_id)
    )


def _by_file(
    installation: Config, item: Item, batch: Iterable[ReferredRecord]
) -> Iterator[tuple[Path, list[ReferredRecord]]]:
    """Yield the records without a copy by file, in the order of their offsets."""
    files: dict[str, list[ReferredRecord]] = {}
    for record in batch:
        if not record.is_handed_over:
            files.setdefault(record.row.warc, []).append(record)
    for name in sorted(files):
        yield (
            installation.items / item.urn / "archive" / name,
            sorted(files[name], key=lambda record: record.row.warc_offset),
        )


def _ends(source: BinaryIO, row: Any) -> tuple[int, int | None]:
    """Check a record; return its end offset, and that of the record of the rendered page if there is one.

    Raise DamagedRecord if it is not the record of the row with the body of the row: then it must not be kept as such.
    """
    rendered, digest = row.rendered_offset, (row.digest or "").encode()
    own = StoredPosition(row.warc_offset, row.warc_length or 0, row.id, key_of(row.url), digest)
    try:
        end = own.offset + check_record(source, own)
        if rendered is None:
            return end, None
        return end, rendered + check_record(source, own._replace(offset=rendered, length=0, digest=b""))
    except DamagedFile as damage:
        raise DamagedRecord(
            "{file} has no complete record at offset {offset}: {error}.",
            file=source.name,
            offset=row.warc_offset,
            error=str(damage).rstrip("."),
        ) from damage
    except OSError as error:
        raise unreadable_record(source.name, row.warc_offset, error) from error


class _NewFile:
    """A WARC file in the making, for one receiving item."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        self._sources: set[Path] = set()
        # Exports copy the files with the usual name: this one becomes visible when it is complete.
        self._temporary = path.with_name(f".{path.name}.part")
        with write_errors(self._temporary):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._temporary.open("wb")

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._file.tell()

    def copy(self, path: Path, source: BinaryIO, record: ReferredRecord) -> None:
        """Append a record, the rendered page, and before the first record of a file its warcinfo record."""
        row = record.row
        end, rendered_end = _ends(source, row)
        with write_errors(self._temporary):
            if path not in self._sources:
                self._sources.add(path)
                with suppress(DamagedRecord):
                    self._append(source, 0, end_of_record(source, 0))
            offset = self._append(source, row.warc_offset, end)
            rendered = None if rendered_end is None else self._append(source, row.rendered_offset, rendered_end)
        self.rows.append(
            row._asdict()
            | {
                "item_id": record.receiver_id,
                "warc": self.path.name,
                "warc_offset": offset,
                "warc_length": end - row.warc_offset,
                "rendered_offset": rendered,
            }
        )

    def _append(self, source: BinaryIO, start: int, end: int) -> int:
        offset = self._file.tell()
        copy_bytes(source, start, end, self._file)
        return offset

    def close(self) -> None:
        """Sync the file to disk and give it its name."""
        with write_errors(self.path):
            self._file.flush()
            os.fsync(self._file)
            self._file.close()
            os.replace(self._temporary, self.path)
            sync_path(self.path.parent)

    def discard(self) -> None:
        """Delete the incomplete file."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)


class Handover:
    """Copies the referred records of one item; call `run`, any number of times."""

    def __init__(self, installation: Config, database: Database, item: Item) -> None:
        self._installation = installation
        self._database = database
        self._item = item
        self._files: dict[int, _NewFile] = {}
        """The file in the making of each receiving item."""

    def run(self, *, lose_unreadable: bool = False) -> HandoverCheck:
        """Copy all records that have no copy yet, and rewrite the indexes of the items concerned.

        With *lose_unreadable*, enter the bodies of unreadable records as damage of the items that refer to them;
        otherwise only count them.
        """
        check = HandoverCheck()
        try:
            for batch in referred_records(self._database, self._item):
                check.referred += len(batch)
                lost = [
                    record
                    for path, records in _by_file(self._installation, self._item, batch)
                    for record in self._copy_all(path, records, check)
                ]
                check.moved += sum(record.is_inherited for record in batch) - sum(
                    record.is_inherited for record in lost
                )
                if lost and lose_unreadable:
                    self._enter_damage(lost)
                if sum(len(file.rows) for file in self._files.values()) >= MAX_UNFINISHED_RECORDS:
                    self._finish_files()
            self._finish_files()
        finally:
            for file in self._files.values():
                file.discard()
            self._files.clear()
        self._write_indexes()
        return check

    def _copy_all(self, path: Path, records: list[ReferredRecord], check: HandoverCheck) -> Iterator[ReferredRecord]:
        """Copy some records of a file; yield those that cannot be read."""
        for record in records:
            try:
                with open_record(path, record.row.warc_offset) as source:
                    self._file_for(record.receiver_id).copy(path, source, record)
            except DamagedRecord as error:
                check.add_unreadable(record, path, error)
                yield record

    def _file_for(self, receiver_id: int) -> _NewFile:
        file = self._files.get(receiver_id)
        if file is not None and file.size >= self._installation.warc_size:
            self._finish(receiver_id)
            file = None
        if file is None:
            file = self._files[receiver_id] = _NewFile(self._next_path(receiver_id))
        return file

    def _next_path(self, receiver_id: int) -> Path:
        """Return the path of the next file. A file without a row is left over from an interruption: it is replaced."""
        with self._database.reading() as session:
            receiver = session.get_one(Item, receiver_id)
            check_home(session, self._installation.items, receiver)
            urn, names = receiver.urn, {row.name for row in files_of_item(session, receiver_id)}
        number = 1
        while (name := f"{urn}-from-{self._item.id}-{number:05}.warc.gz") in names:
            number += 1
        return self._installation.items / urn / "archive" / name

    def _finish_files(self) -> None:
        for receiver_id in list(self._files):
            self._finish(receiver_id)

    def _finish(self, receiver_id: int) -> None:
        """Complete a file, and write its row and those of its records."""
        file = self._files[receiver_id]
        if not file.rows:
            return
        file.close()
        del self._files[receiver_id]
        # Read back outside of the transaction: it takes seconds.
        summary = summarize_file(file.path)
        for number, rows in enumerate(chunks(file.rows, ROWS_PER_TRANSACTION)):
            with self._database.session() as session:
                receiver = session.get_one(Item, receiver_id, with_for_update=True)
                if receiver.state == ItemState.REMOVING:
                    raise ConflictError(
                        "Item {urn}, which would get records, is being removed. Try again.", urn=receiver.urn
                    )
                if not number:
                    register_files(session.connection(), receiver_id, [summary])
                session.execute(delete(InheritedRecord).where(InheritedRecord.id.in_([one["id"] for one in rows])))
                session.execute(insert(InheritedRecord), rows)

    def _enter_damage(self, lost: Iterable[ReferredRecord]) -> None:
        now = datetime.now(UTC)
        for record in lost:
            with self._database.session() as session:
                losing = {
                    number: item_id
                    for one in REFERRING_TABLES
                    for number, item_id in session.execute(
                        select(one.id if one is Document else one.document_id, one.item_id).where(
                            one.refers_to_id == record.row.id,
                            one.item_id.in_(list(record.referrers)),
                            one.digest == record.row.digest,
                        )
                    )
                }
                session.execute(delete(BodyDamage).where(BodyDamage.document_id.in_(list(losing))))
                session.execute(
                    insert(BodyDamage),
                    [
                        {
                            "item_id": item_id,
                            "document_id": number,
                            "warc": record.row.warc,
                            "warc_offset": record.row.warc_offset,
                            "problem": LOST_BODY,
                            "found_at": now,
                        }
                        for number, item_id in losing.items()
                    ],
                )

    def _write_indexes(self) -> None:
        """Rewrite the indexes of all items that have records of this one, or refer to such records."""
        received = select(InheritedRecord.id).where(InheritedRecord.warc.like(f"%-from-{self._item.id}-%"))
        holders = select(InheritedRecord.item_id).where(InheritedRecord.id.in_(received))
        referring = [select(one.item_id).where(one.refers_to_id.in_(received)) for one in REFERRING_TABLES]
        with self._database.reading() as session:
            concerned = select(Item).where(Item.id.in_(union(holders, *referring)), Item.state != ItemState.REMOVING)
            for other in session.scalars(concerned.where(Item.id != self._item.id).order_by(Item.id)).all():
                write_item_indexes(session, other, self._installation.items / other.urn)
