"""Fixity: read the WARC files of an item back, compare them with rows and digests, and record what is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Select, and_, delete, func, insert, or_, select, union_all
from sqlalchemy.orm import Session, aliased

from tarantula.archive.quality.indicators import refresh_fixity
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.models import BodyDamage, Document, InheritedRecord, Item, WarcFile, WarcFileState
from tarantula.store.document_query import documents_of
from tarantula.store.homes import FilesElsewhere, require_files
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item
from tarantula.store.warc_check import FileCheck, ReadCallback, UnreadableFile, check_file
from tarantula.store.warc_files import READ_BACK_STATES, VERIFIABLE_STATES, FileSummary, files_of_item, mark_file
from tarantula.store.warc_positions import ItemPositions

logger = logging.getLogger(__name__)

ROWS_PER_INSERT = 5000
MAX_KNOWN_DAMAGE = 100_000
"""Damaged bodies of one file whose first date is kept when they are found again."""
BYTES_PER_MEGABYTE = 1_000_000
CLOSED_ITEM_STATES = frozenset({ItemState.CONVERTING, ItemState.ARCHIVED})
"""States of items that no collector writes to: a file that is still open was left by one that was killed."""

ByteProgress = Callable[[int, int], None]
"""Called with the number of bytes read so far, and of all."""


def no_limit(number: int) -> None:
    """Read limiter that does nothing."""


def no_progress(done: int, total: int) -> None:
    """Progress callback that does nothing."""


class ReadRate:
    """Read limiter that waits, so that no more than a number of megabytes is read per second."""

    def __init__(self, megabytes_per_second: float, wait: Callable[[float], object] = sleep) -> None:
        self._rate = megabytes_per_second * BYTES_PER_MEGABYTE
        self._wait = wait
        self._begin = monotonic()
        self._read = 0

    def __call__(self, number: int) -> None:
        """Count the bytes of a read, and wait until they are allowed."""
        self._read += number
        ahead = self._read / self._rate - (monotonic() - self._begin)
        if ahead > 0:
            self._wait(ahead)


@dataclass(frozen=True, slots=True)
class FileResult:
    """Result of the verification of one file."""

    name: str
    state: str
    """`WarcFileState`."""
    size: int | None
    """Bytes; None if the file is missing."""
    problem: str
    """The first problem; empty if there is none."""
    lost: int
    """Records that rows name, and that could not be read."""


@dataclass(slots=True)
class ItemCheck:
    """Result of the verification of an item."""

    urn: str
    files: list[FileResult] = field(default_factory=list)
    already: int = 0
    """Files that were verified before, and not read again."""
    unread: list[str] = field(default_factory=list)
    """Files that a collector may still write to."""
    unknown: list[str] = field(default_factory=list)
    """Files in the directory of the item that no row knows."""
    unreadable: list[str] = field(default_factory=list)
    """A sentence for each file that could not be opened, which says nothing about its content."""
    elsewhere: str = ""
    """Why nothing was read: the files are in another home."""
    lost_bodies: int = 0
    """Documents of the item without a readable body, also if another item should have it."""

    @property
    def is_sound(self) -> bool:
        """Whether every file that should have been read could be, and nothing is missing or damaged."""
        is_verified = all(file.state == WarcFileState.VERIFIED for file in self.files)
        return is_verified and not self.lost_bodies and not self.unreadable

    @property
    def is_whole(self) -> bool:
        """Whether all files of the item were read, and nothing is missing or damaged."""
        return self.is_sound and not self.unread and not self.elsewhere

    def count(self, state: WarcFileState) -> int:
        """Return the number of files in a state."""
        return sum(file.state == state for file in self.files) + self.already * (state == WarcFileState.VERIFIED)

    @property
    def bytes(self) -> int:
        """Bytes that were read."""
        return sum(file.size or 0 for file in self.files)


def verify_item(
    installation: Config,
    database: Database,
    urn: str,
    since: datetime | None = None,
    limiter: ReadCallback = no_limit,
    progress: ByteProgress = no_progress,
    full: bool = False,
) -> ItemCheck:
    """Read the files of an item back and store the results, file by file; see `check_file` for *full*.

    A file that was verified after *since* is not read again, so that an interrupted verification continues.
    """
    result = ItemCheck(urn)
    with database.reading() as session:
        item = find_item(session, urn)
        try:
            require_files(session, installation, item)
        except FilesElsewhere as error:
            result.elsewhere = str(error)
            return result
    archive = installation.items / urn / "archive"
    with ItemPositions(database, item.id) as rows:
        closed = _files_of(database, urn, rows.names, result)
        files = [file for file in closed if not _is_fresh(file, since)]
        result.already = len(closed) - len(files)
        total, done = sum(_size_of(archive / file.name) for file in files), 0

        def on_read(number: int) -> None:
            nonlocal done
            done += number
            progress(done, total)
            limiter(number)

        for file in files:
            try:
                result.files.append(_verify(database, item, file, archive, rows, on_read, full))
            except UnreadableFile as error:
                result.unreadable.append(str(error))
    known = {*result.unread, *(file.name for file in closed)}
    with suppress(PermissionError):
        result.unknown = sorted(path.name for path in archive.glob("*.warc.gz") if path.name not in known)
    result.lost_bodies = settle_item(database, urn)
    return result


def verify_file(
    installation: Config, database: Database, file_id: int, limiter: ReadCallback = no_limit
) -> FileResult | None:
    """Read one file back and store the result; return None if its item was removed meanwhile."""
    with database.reading() as session:
        file = session.get(WarcFile, file_id)
        item = session.get(Item, file.item_id) if file is not None else None
    if file is None or item is None:
        return None
    with ItemPositions(database, item.id, file.name) as rows:
        result = _verify(database, item, file, installation.items / item.urn / "archive", rows, limiter)
    settle_item(database, item.urn)
    return result


def verify_referred_files(installation: Config, database: Database, urn: str) -> None:
    """Read back the files of other items that hold bodies of this one and are missing, or shorter than its rows need.

    The others are read when the fixity of their own items is checked.
    """
    with database.reading() as session:
        item = find_item(session, urn)
        files = [
            file_id
            for file_id, owner, name, end in session.execute(_referred_files(session, item))
            if _size_of(installation.items / owner / "archive" / name) < end
        ]
    for file_id in files:
        verify_file(installation, database, file_id)


def settle_item(database: Database, urn: str) -> int:
    """Store whether an item is verified, and update the indicators of all items that its damage concerns.

    Return the number of its documents without a readable body.
    """
    with database.session() as session:
        item = find_item(session, urn)
        concerned = [lock_item(session, one) for one in session.scalars(_concerned_items(item))]
        files = files_of_item(session, item.id)
        # A file of its own that was forgotten, because its documents were collected again, has no damage.
        is_forgotten = (
            BodyDamage.warc.startswith(f"{urn}-", autoescape=True),
            BodyDamage.warc.not_in([file.name for file in files]),
        )
        session.execute(delete(BodyDamage).where(BodyDamage.item_id == item.id, *is_forgotten))
        if item.state in VERIFIABLE_STATES and all(file.state in READ_BACK_STATES for file in files):
            item.verified_at = max((file.checked_at for file in files if file.checked_at), default=datetime.now(UTC))
        lost = {one.id: refresh_fixity(session, one) for one in concerned}
        return lost[item.id]


def _concerned_items(item: Item) -> Select[str]:
    """Select the urns of an item and of others with a body in it that is or was damaged; in the order of locking."""
    referring = (
        select(Document.item_id)
        .join(BodyDamage, BodyDamage.document_id == Document.refers_to_id)
        .where(BodyDamage.item_id == item.id)
    )
    had_lost_bodies = Item.indicators["missing_bodies"].as_integer() > 0
    others = and_(
        Item.publication_id == item.publication_id,
        Item.state != ItemState.REMOVING,
        or_(Item.id.in_(referring), had_lost_bodies),
    )
    return select(Item.urn).where(or_(Item.id == item.id, others)).order_by(Item.id)


def _files_of(database: Database, urn: str, names: Set[str], result: ItemCheck) -> list[WarcFile]:
    """Return the files of an item that no collector writes to; enter those that only rows of documents *names*."""
    with database.session() as session:
        item, now = find_item(session, urn), datetime.now(UTC)
        known = {file.name for file in files_of_item(session, item.id)}
        session.add_all(
            WarcFile(item_id=item.id, name=name, state=WarcFileState.CLOSED, created_at=now)
            for name in sorted(names - known)
        )
        session.flush()
        files = files_of_item(session, item.id)
    is_written = item.state not in CLOSED_ITEM_STATES
    result.unread = [file.name for file in files if is_written and file.state == WarcFileState.OPEN]
    return [file for file in files if file.name not in result.unread]


def _is_fresh(file: WarcFile, since: datetime | None) -> bool:
    if since is None or file.checked_at is None or file.state != WarcFileState.VERIFIED:
        return False
    return file.checked_at > since


def _verify(
    database: Database,
    item: Item,
    file: WarcFile,
    archive: Path,
    rows: ItemPositions,
    limiter: ReadCallback,
    full: bool = False,
) -> FileResult:
    # The size of an open file is that of its synced part.
    size = None if file.state == WarcFileState.OPEN else file.size
    check = check_file(
        archive / file.name,
        lambda: rows.positions(file.name),
        size,
        file.sha256,
        limiter,
        full=full,
        boundaries=lambda: rows.boundaries(file.name),
    )
    state = WarcFileState.VERIFIED
    if check.problem:
        state = WarcFileState.MISSING if check.size is None else WarcFileState.DAMAGED
        if file.state != state:
            logger.error("%s of %s: %s %d bodies are lost.", file.name, item.urn, check.problem, len(check.lost))
    _store(database, file, state, check)
    return FileResult(file.name, state, check.size, check.problem, len(check.lost))


def _store(database: Database, file: WarcFile, state: WarcFileState, check: FileCheck) -> None:
    now = datetime.now(UTC)
    summary = None
    if state == WarcFileState.VERIFIED and check.size is not None and check.records is not None:
        summary = FileSummary(file.name, check.size, check.sha256, check.records)
    of_file = (BodyDamage.item_id == file.item_id, BodyDamage.warc == file.name)
    with database.session() as session:
        if session.get(WarcFile, file.id) is None:
            # Its item was removed while it was read.
            return
        mark_file(session.connection(), file.id, state, summary, now)
        first = {
            (one.document_id, one.warc_offset): one.found_at
            for one in session.scalars(select(BodyDamage).where(*of_file).limit(MAX_KNOWN_DAMAGE))
        }
        session.execute(delete(BodyDamage).where(*of_file))
        rows = (
            {
                "item_id": file.item_id,
                "document_id": document_id,
                "warc": file.name,
                "warc_offset": offset,
                "problem": problem,
                "found_at": first.get((document_id, offset), now),
            }
            for document_id, offset, problem in check.lost
        )
        while some := list(islice(rows, ROWS_PER_INSERT)):
            session.execute(insert(BodyDamage), some)


def _referred_files(session: Session, item: Item) -> Select[int, str, str, Any]:
    """Select id, urn, name and needed size of the files of other items that hold bodies of this one."""
    roots = [
        select(source.item_id, source.warc, func.max(source.warc_offset + source.warc_length).label("end"))
        .join(Document, Document.refers_to_id == source.id)
        .where(*documents_of(session, item), source.item_id != item.id, source.warc.is_not(None))
        .group_by(source.item_id, source.warc)
        for source in (aliased(Document), InheritedRecord)
    ]
    needed = union_all(*roots).subquery()
    return (
        select(WarcFile.id, Item.urn, WarcFile.name, func.max(needed.c.end))
        .join(needed, (needed.c.item_id == WarcFile.item_id) & (needed.c.warc == WarcFile.name))
        .join(Item, Item.id == WarcFile.item_id)
        .group_by(WarcFile.id, Item.urn, WarcFile.name)
    )


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
