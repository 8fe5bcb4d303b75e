"""Removal of an item: later items first get the WARC records that they refer to, then files go, then rows.

Rows go last, so that an interrupted removal can be repeated.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, BinaryIO, NamedTuple

from sqlalchemy import delete, func, insert, select, union, union_all
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import REMOVABLE_ITEM_STATES, ItemState
from tarantula.models import (
    Base,
    Document,
    InheritedRecord,
    Item,
    LinkRow,
    LinkWeight,
    Publication,
    ReadText,
    Visit,
)
from tarantula.store.cdxj import REFERRING_TABLES, write_item_indexes
from tarantula.store.errors import write_errors
from tarantula.store.journal import JournalKind, append_item_to_journal
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item
from tarantula.store.warc_reader import DamagedRecord, copy_bytes, end_of_record, open_record

ROWS_PER_FETCH = 1000


class CopiedRecord(NamedTuple):
    """New location of a copied record."""

    item_id: int
    warc: str
    warc_offset: int
    warc_length: int
    rendered_offset: int | None


@dataclass(slots=True)
class Handover:
    """Records handed over to later items."""

    copies: dict[int, CopiedRecord] = field(default_factory=dict)
    """By the id of the document whose record it is."""
    files: list[Path] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)
    """Unreadable records, each with a message that has file and offset."""

    @property
    def bytes(self) -> int:
        """Total size of the copied records."""
        return sum(copy.warc_length for copy in self.copies.values())

    def undo(self) -> None:
        """Delete the files that were written."""
        for path in self.files:
            path.unlink(missing_ok=True)


def copy_referred_records(session: Session, installation: Config, item: Item, done: Handover | None = None) -> Handover:
    """Copy the records of an item that others refer to into the oldest referring item, without changing rows.

    Copying may take long, and needs no write transaction.
    """
    handover = done or Handover()
    archive = installation.items / item.urn / "archive"
    try:
        with ExitStack() as stack:
            target = _Target(stack, installation, session, handover)
            for row in _referred_records(session, item):
                if row.id not in handover.copies and row.id not in handover.lost:
                    _copy(archive / row.warc, row, target, handover)
    except BaseException:
        handover.undo()
        raise
    return handover


def hand_over(session: Session, installation: Config, item: Item, copied: Handover | None = None) -> Handover:
    """Transfer the records of an item that others refer to, so that the item can be removed.

    Records that `copy_referred_records` has *copied* before are not copied within this write transaction.
    """
    _lock_publication(session, item)
    handover = copy_referred_records(session, installation, item, copied)
    try:
        referring = _referring_items(session, item)
        transferred = (row for row in _referred_records(session, item) if row.id in handover.copies)
        while rows := list(islice(transferred, ROWS_PER_FETCH)):
            _transfer(session, rows, handover.copies)
        session.execute(delete(InheritedRecord).where(InheritedRecord.item_id == item.id))
        for other in referring:
            write_item_indexes(session, other, installation.items / other.urn)
    except BaseException:
        handover.undo()
        raise
    return handover


def _lock_publication(session: Session, item: Item) -> None:
    """Lock the publication and its items; raise an error if one is being collected, since it may refer to this item."""
    session.execute(select(Publication.id).where(Publication.id == item.publication_id).with_for_update())
    others = select(Item.urn, Item.state).where(Item.publication_id == item.publication_id, Item.id != item.id)
    for urn, state in session.execute(others.with_for_update()):
        if state == ItemState.COLLECTING:
            raise TarantulaError(
                f"Item {urn} is being collected, and may refer to {item.urn}. Wait until it has ended, or stop it."
            )


def _referred_records(session: Session, item: Item) -> Iterator[Any]:
    """Yield the item's records that others refer to, each with the oldest referring item, in file order."""
    referring = (select(one.refers_to_id, one.item_id, one.digest) for one in REFERRING_TABLES)
    other = union_all(*(rows.where(rows.selected_columns.refers_to_id.is_not(None)) for rows in referring)).subquery()
    for source in (Document, InheritedRecord):
        columns = [getattr(source, column.name) for column in InheritedRecord.__table__.columns]
        receiver = func.min(other.c.item_id).label("receiver_id")
        rows = session.execute(
            select(*columns, receiver)
            .join(other, other.c.refers_to_id == source.id)
            .where(source.item_id == item.id, other.c.item_id != item.id, source.warc.is_not(None))
            .where(other.c.digest == source.digest)
            .group_by(*columns)
            .order_by(receiver, source.warc, source.warc_offset)
        )
        yield from rows.yield_per(ROWS_PER_FETCH)


def _referring_items(session: Session, item: Item) -> list[Item]:
    ids = (
        select(Document.id).where(Document.item_id == item.id),
        select(InheritedRecord.id).where(InheritedRecord.item_id == item.id),
    )
    referring = [select(one.item_id).where(one.refers_to_id.in_(some)) for some in ids for one in REFERRING_TABLES]
    chosen = select(Item).where(Item.id.in_(union(*referring)), Item.id != item.id)
    return list(session.scalars(chosen.order_by(Item.id)))


def _transfer(session: Session, rows: list[Any], copies: dict[int, CopiedRecord]) -> None:
    session.execute(delete(InheritedRecord).where(InheritedRecord.id.in_([row.id for row in rows])))
    kept = ("id", "url", "collected_at", "state", "type", "digest")
    session.execute(
        insert(InheritedRecord),
        [{name: getattr(row, name) for name in kept} | copies[row.id]._asdict() for row in rows],
    )


class _Target:
    """The file being written: one per receiving item and source file."""

    def __init__(self, stack: ExitStack, installation: Config, session: Session, handover: Handover) -> None:
        self._stack = stack
        self._installation = installation
        self._session = session
        self._handover = handover
        self._key: tuple[int, str] | None = None
        self._file: IO[bytes] | None = None

    def file_for(self, row: Any, source: BinaryIO) -> IO[bytes]:
        """Return the file for a row; it starts with the warcinfo record of the source file."""
        if self._key != (row.receiver_id, row.warc) or self._file is None:
            self._key = (row.receiver_id, row.warc)
            self._file = self._open(self._session.get_one(Item, row.receiver_id).urn)
            with suppress(DamagedRecord):
                copy_bytes(source, 0, end_of_record(source, 0), self._file)
        return self._file

    def _open(self, urn: str) -> IO[bytes]:
        path = self._installation.items / urn / "archive" / f"{urn}-{token_hex(4)}-00001.warc.gz"
        with write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = self._stack.enter_context(path.open("xb"))
        self._handover.files.append(path)
        self._stack.callback(_sync, file)
        return file


def _sync(file: IO[bytes]) -> None:
    with write_errors(Path(file.name)):
        file.flush()
        os.fsync(file)


def _copy(path: Path, row: Any, target: _Target, handover: Handover) -> None:
    try:
        with open_record(path, row.warc_offset) as source:
            end = end_of_record(source, row.warc_offset)
            file = target.file_for(row, source)
            with write_errors(Path(file.name)):
                offset = file.tell()
                copy_bytes(source, row.warc_offset, end, file)
                rendered = _copy_rendered(source, row, file)
    except DamagedRecord as error:
        handover.lost[row.id] = str(error)
    else:
        handover.copies[row.id] = CopiedRecord(
            row.receiver_id, Path(file.name).name, offset, end - row.warc_offset, rendered
        )


def _copy_rendered(source: BinaryIO, row: Any, file: IO[bytes]) -> int | None:
    """Copy the record of the rendered page too, which is shown for documents carried over."""
    if row.rendered_offset is None:
        return None
    offset = file.tell()
    copy_bytes(source, row.rendered_offset, end_of_record(source, row.rendered_offset), file)
    return offset


def check_removable(item: Item) -> None:
    """Raise an error if the state of an item does not allow its removal."""
    if ItemState(item.state) not in REMOVABLE_ITEM_STATES:
        raise ConflictError(
            f"Item {item.urn} is {item.state} and cannot be removed. "
            f"Stop it first with `tarantula item stop {item.urn}`."
        )


def remove_item(installation: Config, database: Database, urn: str) -> list[str]:
    """Remove an item: its files and all its rows.

    Records that later items refer to are handed over; return a message for each that could not be.
    """
    with database.reading() as session:
        item = find_item(session, urn)
        check_removable(item)
        copied = copy_referred_records(session, installation, item)
    with database.session() as session:
        item = lock_item(session, urn)
        check_removable(item)
        handover = hand_over(session, installation, item, copied)
    for directory in (installation.archived / urn, installation.items / urn):
        if directory.exists():
            shutil.rmtree(directory)
    with database.session() as session:
        _remove_rows(session, lock_item(session, urn))
    return list(handover.lost.values())


def _remove_rows(session: Session, item: Item) -> None:
    check_removable(item)
    append_item_to_journal(item, JournalKind.REMOVED)
    session.execute(delete(ReadText).where(ReadText.item_id == item.id))
    session.execute(delete(LinkWeight).where(LinkWeight.item_id == item.id))
    documents = select(Document.id).where(Document.item_id == item.id)
    session.execute(delete(LinkRow).where(LinkRow.document_id.in_(documents)))
    session.execute(delete(Document).where(Document.item_id == item.id))
    session.execute(delete(Visit).where(Visit.item_id == item.id))
    for table in reversed(Base.metadata.sorted_tables):
        for key in table.foreign_keys:
            if key.column is Item.__table__.c.id:
                session.execute(delete(table).where(key.parent == item.id))
    session.delete(item)
