"""Repair of an item's WARC files after a crash or a power failure.

A file is cut after its last complete record. Documents and visits whose record lies beyond are collected again.
"""

from __future__ import annotations

import fcntl
import logging
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, text, union_all, update
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.files import forget_cached
from tarantula.core.states import DocumentState
from tarantula.models import UNDER_WAY, Document, InheritedRecord, Item, LinkRow, Visit, WarcFile, WarcFileState
from tarantula.store.bulk import chunks
from tarantula.store.document_query import documents_of
from tarantula.store.documents import OUTCOME_COLUMNS
from tarantula.store.errors import write_errors
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.warc_check import NO_FILE
from tarantula.store.warc_files import files_of_item, open_files
from tarantula.store.warc_reader import UnreadableRecord, end_of_complete_records

logger = logging.getLogger(__name__)

_WAITING_AGAIN: dict[str, Any] = {
    **dict.fromkeys(OUTCOME_COLUMNS),
    "encoding": None,
    "state": DocumentState.WAITING,
    "tries": 0,
}
_NOT_MADE = dict.fromkeys(
    "released_at before made_at gap state changed reason_code reason_parameters type digest"
    " warc warc_offset warc_length refers_to_id unmodified".split()
)


@dataclass(slots=True)
class Repair:
    """Records lost with the ends of files."""

    documents: int = 0
    """Documents that wait again."""
    visits: int = 0
    """Visits that are made again."""
    inherited: int = 0
    """Records of removed items, which cannot be collected again."""
    referring: int = 0
    """Documents and visits of other items whose body was among them."""
    files: list[str] = field(default_factory=list)
    losing_items: set[int] = field(default_factory=set)
    """Other items whose documents or visits had their body among them."""

    def log(self, urn: str) -> None:
        """Log one line if something was lost."""
        if not (self.documents or self.visits or self.inherited):
            return
        also = ""
        if self.inherited:
            also += f" {self.inherited} records inherited from removed items are lost."
        if self.referring:
            also += f" {self.referring} captures of other items had their body there, and have none now."
        logger.warning(
            "%s: %d documents and %d visits are collected again, because their records are missing from %s.%s",
            urn,
            self.documents,
            self.visits,
            ", ".join(self.files),
            also,
        )


def repair_files(database: Database, archive: Path, item_id: int, urn: str) -> Repair:
    """Repair the files of an item in the folder *archive* that no collector is writing; return what was lost.

    Only files that were not closed, or are shorter than their rows say, are read: from the last synced record on.
    Raise an error if the folder is missing: its disk may not be mounted.
    """
    repair = Repair()
    with database.reading() as session:
        files = {file.name: file for file in files_of_item(session, item_id)}
        # Files of earlier versions have no size.
        ends = _named_ends(session, item_id) if any(file.size is None for file in files.values()) else {}
    check_folder(archive, len(files))
    for path in sorted({*archive.glob("*.warc.gz"), *(archive / name for name in files)}):
        file, status = files.get(path.name), _status(path)
        if status is None or not S_ISREG(status.st_mode):
            if file is not None:
                _forget_missing(database, file, repair)
        elif file is None or file.state == WarcFileState.OPEN or _is_short(status.st_size, file, ends):
            _repair_file(database, path, item_id, file, repair)
    repair.log(urn)
    return repair


def check_folder(archive: Path, files: int) -> None:
    """Raise an error if the folder that had some files is missing: its disk may not be mounted."""
    if files and _status(archive) is None:
        raise TarantulaError(
            "{archive} is missing, which had {count:,} files. Mount its disk, or restore it. If it is lost, create it "
            "as an empty directory: the documents are collected again.",
            archive=archive,
            count=files,
        )


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a file; None if there is none. Raise an error if that cannot be known."""
    try:
        return path.stat()
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise TarantulaError(
            "{path} cannot be read ({error}). Correct this, then resume.", path=path, error=error.strerror
        ) from error


def _named_ends(session: Session, item_id: int) -> dict[str, int]:
    """Return the end of the last record of each file that rows name."""
    end = func.max(Document.warc_offset + Document.warc_length)
    visited = func.max(Visit.warc_offset + Visit.warc_length)
    rows = union_all(
        select(Document.warc, end)
        .where(*_documents(session, item_id), Document.warc.is_not(None))
        .group_by(Document.warc),
        select(Visit.warc, visited).where(Visit.item_id == item_id, Visit.warc.is_not(None)).group_by(Visit.warc),
    )
    ends: dict[str, int] = {}
    for name, last in session.execute(rows):
        ends[str(name)] = max(ends.get(str(name), 0), last or 0)
    return ends


def _is_short(size: int, file: WarcFile, ends: dict[str, int]) -> bool:
    return size < (ends.get(file.name, 0) if file.size is None else file.size)


def _repair_file(database: Database, path: Path, item_id: int, file: WarcFile | None, repair: Repair) -> None:
    with write_errors(path), _locked(path) as opened:
        if opened is None:
            return
        size = opened.seek(0, 2)
        # The end is read from the disk: what a collector could not sync may be in memory only.
        os.fsync(opened)
        forget_cached(opened.fileno())
        with database.reading() as session:
            start = _last_named_end(session, item_id, path.name, min(size, (file.size if file is not None else 0) or 0))
        end = _end_of_complete_records(path, opened, start)
        # The rows first: if this is interrupted, it is done again.
        _collect_again(database, item_id, path.name, end, repair)
        if end < size:
            opened.truncate(end)
            logger.warning("%s ended in an incomplete record; %d bytes were cut.", path.name, size - end)
        os.fsync(opened)
        with database.session() as session:
            connection = session.connection()
            open_files(connection, item_id, [path.name])
            # Its digest is unknown until it is verified. Its collector may have closed it in the meantime.
            is_same = WarcFile.state == (file.state if file is not None else WarcFileState.OPEN)
            connection.execute(
                update(WarcFile)
                .where(WarcFile.item_id == item_id, WarcFile.name == path.name, is_same)
                .values(state=WarcFileState.CLOSED, size=end, sha256=None, records=None)
            )


def _end_of_complete_records(path: Path, opened: BinaryIO, start: int) -> int:
    try:
        return end_of_complete_records(opened, start)
    except UnreadableRecord as error:
        raise TarantulaError(
            "{error} Repair the disk and resume; or move {path} away, then its documents are collected again.",
            error=error,
            path=path,
        ) from error


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO | None]:
    """Open and lock a file; yield None if a collector is writing it."""
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield file


def _last_named_end(session: Session, item_id: int, name: str, limit: int) -> int:
    """Return the last end of a record within the first *limit* bytes of a file that a row names; 0 if there is none."""
    if not limit:
        return 0
    end = Document.warc_offset + Document.warc_length
    rows = select(func.max(end)).where(*_documents(session, item_id), Document.warc == name, end <= limit)
    return session.scalar(rows) or 0


def _forget_missing(database: Database, file: WarcFile, repair: Repair) -> None:
    """Collect again what only a missing file had; its row goes too, unless inherited records were in it."""
    inherited = repair.inherited
    _collect_again(database, file.item_id, file.name, 0, repair)
    mine = WarcFile.id == file.id
    with database.session() as session:
        if repair.inherited > inherited:
            session.execute(update(WarcFile).where(mine).values(state=WarcFileState.MISSING))
        else:
            session.execute(delete(WarcFile).where(mine))
    logger.warning("%s is missing.", file.name)


def _collect_again(database: Database, item_id: int, name: str, end: int, repair: Repair) -> None:
    """Set the documents and visits whose record ends after *end* back, a thousand in a transaction."""
    with database.reading() as session:
        lost = array("q", session.scalars(_beyond(Document, name, end).where(*_documents(session, item_id))))
        visits = array("q", session.scalars(_beyond(Visit, name, end).where(Visit.item_id == item_id)))
        of_item = InheritedRecord.item_id == item_id
        inherited = len(session.scalars(_beyond(InheritedRecord, name, end).where(of_item)).all())
    if not (lost or visits or inherited):
        return
    repair.files.append(name)
    repair.inherited += inherited
    for chunk in chunks(visits):
        with database.session() as session:
            session.execute(update(Visit).where(Visit.id.in_(chunk)).values(_NOT_MADE))
    repair.visits += len(visits)
    while lost:
        also_lost = array("q")
        for chunk in chunks(lost):
            with database.session() as session:
                also_lost.extend(reset_documents(session.connection(), item_id, chunk, repair))
        lost = also_lost


def _beyond(source: Any, name: str, end: int) -> Any:
    conditions: list[ColumnElement[bool]] = [source.warc_offset + source.warc_length > end]
    if source is not Visit:
        conditions.append(source.rendered_offset >= end)
    return select(source.id).where(source.warc == name, or_(*conditions)).order_by(source.id)


def _documents(session: Session, item_id: int) -> Iterable[ColumnElement[bool]]:
    return documents_of(session, session.get_one(Item, item_id))


def reset_documents(connection: Connection, item_id: int, ids: Sequence[int], repair: Repair) -> Iterable[int]:
    """Set documents to waiting, without capture and links; return those of the item whose body they had."""
    is_referring = Document.refers_to_id.in_(ids), Visit.refers_to_id.in_(ids)
    own, others = _split(connection, select(Document.id, Document.item_id).where(is_referring[0]), item_id)
    visits, visits_of_others = _split(connection, select(Visit.id, Visit.item_id).where(is_referring[1]), item_id)
    repair.losing_items.update(others, visits_of_others)
    connection.execute(update(Document).where(Document.id.in_(ids)).values(_WAITING_AGAIN))
    connection.execute(delete(LinkRow).where(LinkRow.document_id.in_(ids)))
    connection.execute(update(Visit).where(Visit.id.in_(visits)).values(_NOT_MADE))
    # An interrupted visit would restore the former state of a document that no longer has a body.
    connection.execute(update(Visit).where(Visit.document_id.in_(ids), text(UNDER_WAY)).values(before=None))
    append_to_journal(connection, JournalKind.COLLECTED, item_id, ids)
    repair.documents += len(ids)
    repair.visits += len(visits)
    repair.referring += len(others) + len(visits_of_others)
    return own


def _split(connection: Connection, chosen: Any, item_id: int) -> tuple[list[int], list[int]]:
    """Return the ids of rows of an item, and for each row of another item the id of that item."""
    own: list[int] = []
    others: list[int] = []
    for identity, owner in connection.execute(chosen):
        if owner == item_id:
            own.append(identity)
        else:
            others.append(owner)
    return own, others
