"""Verification of stored bodies: of an item before it is archived, and of all items on a schedule."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from time import monotonic
from typing import Any, Self

from sqlalchemy import ColumnElement, Select, delete, exists, func, or_, select
from sqlalchemy.orm import Session

from tarantula.archive.damage import lost_documents
from tarantula.archive.fixity import ByteProgress, ReadRate, verify_file, verify_item, verify_referred_files
from tarantula.archive.quality.baseline import base_row
from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.process import PeriodicJob
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import COLLECTED_STATES, UNREACHED_STATES, DocumentState, ItemState
from tarantula.lifecycle.supervisor import retry_pause
from tarantula.models import BodyDamage, Document, Item, WarcFile, WarcFileState
from tarantula.store.bulk import chunks
from tarantula.store.document_query import last_collected_at
from tarantula.store.homes import belongs_here
from tarantula.store.listings import find_item
from tarantula.store.liveness import database_time
from tarantula.store.transitions import ItemNotice, change_state, lock_item, queue_notice
from tarantula.store.warc_check import UnreadableFile
from tarantula.store.warc_files import files_of_item
from tarantula.store.warc_repair import Repair, check_folder, reset_documents

logger = logging.getLogger(__name__)

MAX_REFETCHES = 3
"""How often an item is collected again because bodies are lost; a bad disk must not make this endless."""
TAKEOVER_DELAY = timedelta(seconds=10)
"""How long the daemon leaves the lost documents to the process that verified the item."""
POLL_SECONDS = 5.0
"""Pause between two looks for a file that is due."""
OVERDUE_SHARE = 0.95
"""Share of the period after which a file is read without regard to an even distribution."""
UNREADABLE_PAUSE_SECONDS = 3600.0
"""Pause before a file is tried again that could not be opened, as without permission."""
LOCK_FILE = ".fixity"
"""File in the home that is locked by the daemon which checks it."""
MAX_BASE_RETRY_SECONDS = 86_400
"""Time since the start of an item in which its base document is tried again; a deadline may be earlier."""


def verify_collected(installation: Config, database: Database, urn: str, progress: ByteProgress) -> bool:
    """Read the files of an item in state `converting` back; return whether it is to be collected again.

    Files that were read back since its last document was collected are not read again: after a crash this continues.
    """
    with database.reading() as session:
        item = find_item(session, urn)
        since, files = session.scalar(last_collected_at(item.id)), files_of_item(session, item.id)
    check_folder(installation.items / urn / "archive", len(files))
    verify_referred_files(installation, database, urn)
    check = verify_item(installation, database, urn, since, progress=progress)
    if check.unreadable:
        raise TarantulaError(check.unreadable[0])
    return bool(check.lost_bodies) and _collect_again(database, urn)


def _collect_again(database: Database, urn: str) -> bool:
    """Set the documents whose bodies are lost to waiting, if the item may still be collected."""
    with database.session() as session:
        item, now = lock_item(session, urn), datetime.now(UTC)
        if not _may_be_collected(session, item, now):
            return False
        lost = list(session.scalars(_present_captures(session, item)))
        if not lost:
            return False
        repair = Repair()
        while lost:
            lost = [other for chunk in chunks(lost) for other in _reset(session, item, chunk, repair)]
        change_state(item, ItemState.COLLECTING, now)
        item.refetches += 1
        item.retry_at = now + TAKEOVER_DELAY
    logger.warning(
        "%s: %d bodies could not be read back; they are collected again (%d of at most %d times).",
        *(urn, repair.documents, item.refetches, MAX_REFETCHES),
    )
    return True


def _reset(session: Session, item: Item, ids: Sequence[int], repair: Repair) -> Iterable[int]:
    """Set documents to waiting; return those of the item whose body they had."""
    session.execute(delete(BodyDamage).where(BodyDamage.item_id == item.id, BodyDamage.document_id.in_(ids)))
    return reset_documents(session.connection(), item.id, ids, repair)


def _present_captures(session: Session, item: Item) -> Select[int]:
    """Select the documents whose present capture is lost, and not only that of an earlier visit."""
    lost = lost_documents(session, item).subquery()
    is_damaged = exists().where(
        BodyDamage.document_id == Document.id,
        BodyDamage.warc == Document.warc,
        BodyDamage.warc_offset.in_((Document.warc_offset, Document.rendered_offset)),
    )
    return (
        select(Document.id)
        .join(lost, lost.c[0] == Document.id)
        .where(Document.item_id + 0 == item.id, or_(Document.refers_to_id.is_not(None), is_damaged))
    )


def _may_be_collected(session: Session, item: Item, now: datetime) -> bool:
    is_over = item.deadline is not None and item.deadline <= now
    if item.state != ItemState.CONVERTING or item.stop_wanted_at is not None or is_over:
        return False
    # A later item may refer to other records of these documents.
    later = exists().where(Item.publication_id == item.publication_id, Item.id > item.id)
    return item.refetches < MAX_REFETCHES and not session.scalar(select(later))


class StoppedError(Exception):
    """The daemon is stopping; the file is read again later."""


class FixitySchedule:
    """Reads the files of this home back, one at a time.

    Files that were never read are due at once. The others are spread evenly: one is read every period divided by their
    number, and at once when its period is nearly over, as after a daemon did not run for long.
    """

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._period = timedelta(seconds=installation.fixity_seconds or 0)
        self._stop = Event()
        self._last_begin = datetime.now(UTC)
        self._unreadable: dict[int, float] = {}
        """Files that could not be opened, with the monotonic time from which on they are tried again."""
        self.is_waiting = False
        """Whether another daemon checks this home."""
        self.is_reading = False
        """Whether a file is being read."""
        self._thread = Thread(target=self._run, name="fixity", daemon=True)

    def __enter__(self) -> Self:
        if self._period:
            self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def check_next(self, now: datetime) -> bool:
        """Verify the file that was read longest ago, if it is due; return whether one was."""
        file_id = self._due_file(now)
        if file_id is None:
            return False
        self._last_begin = now
        rate = ReadRate(self._installation.fixity_rate, self._stop.wait)

        def limit(number: int) -> None:
            self.is_reading = True
            rate(number)
            if self._stop.is_set():
                raise StoppedError

        try:
            verify_file(self._installation, self._database, file_id, limit)
        except UnreadableFile as error:
            # The others are read meanwhile.
            logger.error("%s", error)
            self._unreadable[file_id] = monotonic() + UNREADABLE_PAUSE_SECONDS
        finally:
            self.is_reading = False
        return True

    def _due_file(self, now: datetime) -> int | None:
        with self._database.reading() as session:
            number = session.scalar(self._own_files(select(func.count(WarcFile.id)))) or 0
            oldest = session.execute(
                self._own_files(select(WarcFile.id, WarcFile.checked_at))
                .order_by(WarcFile.checked_at.nulls_first(), WarcFile.id)
                .limit(1)
            ).first()
        if oldest is None:
            return None
        file_id, checked_at = oldest
        is_overdue = checked_at is None or checked_at <= now - OVERDUE_SHARE * self._period
        is_turn = self._last_begin <= now - self._period / number
        return file_id if is_overdue or is_turn else None

    def _own_files(self, chosen: Any) -> Any:
        """Restrict a query to the closed files of ended items of this home."""
        is_ended: ColumnElement[bool] = Item.state.in_((ItemState.ARCHIVED, ItemState.INTERRUPTED))
        is_closed: ColumnElement[bool] = (WarcFile.state != WarcFileState.OPEN) | (Item.state == ItemState.ARCHIVED)
        left_out = [file_id for file_id, until in self._unreadable.items() if monotonic() < until]
        return chosen.join(Item, Item.id == WarcFile.item_id).where(
            is_ended, is_closed, belongs_here(self._installation), WarcFile.id.not_in(left_out)
        )

    def _run(self) -> None:
        with self._home_lock():
            job = PeriodicJob(self._check_all_due, logger)
            while not self._stop.is_set():
                job()
                self._stop.wait(POLL_SECONDS)

    def _check_all_due(self) -> None:
        try:
            while self.check_next(datetime.now(UTC)):
                pass
        except StoppedError:
            return

    @contextmanager
    def _home_lock(self) -> Iterator[None]:
        """Wait until no other daemon checks this home, or this one stops."""
        with (self._installation.home / LOCK_FILE).open("w") as file:
            while not self._stop.is_set():
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    self.is_waiting = True
                    self._stop.wait(POLL_SECONDS)
            self.is_waiting = False
            yield


PASSING_STATES = UNREACHED_STATES | {DocumentState.INVALID_RESPONSE, DocumentState.NO_CODE, 408, 425, 429}
"""States of a base document, besides 500 and over, that another try may change."""

ROBOTS_RULE = "Robots"
"""Rule of documents whose robots.txt could not be fetched."""


def postpone_without_base(session: Session, installation: Config, item: Item) -> timedelta | Reason | None:
    """Put a base document that failed for a passing reason back to waiting.

    Return the pause before the next try; the reason to interrupt the item, if its time is over; ``None`` if the base
    document is there, or failed for good.
    """
    base = base_row(session, item) if item.refreshes_id is None else None
    if base is None or not _may_pass(base):
        return None
    reason = Reason.of(ItemReason.BASE_MISSING, url=base.url, reason=base.reason)
    now = database_time(session.connection())
    pause = retry_pause(installation, max(base.tries, 1))
    ends = [(item.started_at or now) + timedelta(seconds=MAX_BASE_RETRY_SECONDS), item.deadline]
    # Also of an item that is interrupted: so that it can be resumed.
    base.state = DocumentState.WAITING
    session.flush()
    if now + pause >= min(end for end in ends if end is not None):
        return reason
    store_indicators(session, item)
    if item.reason is None:
        # The first time only.
        queue_notice(item, ItemNotice.ATTENTION, reason.sentence())
    item.reason = reason
    return pause


def base_problem(session: Session, item: Item) -> str | None:
    """Return a sentence if an item ended, or waits for another try, without its base document."""
    if item.reason is not None and item.reason.code == ItemReason.BASE_MISSING:
        again = "It is tried again by a daemon, or with" if item.state == ItemState.COLLECTING else "Continue with"
        return f"{item.reason} {again} `tarantula item resume {item.urn}`."
    base = base_row(session, item) if item.state in (ItemState.CONVERTING, ItemState.ARCHIVED) else None
    if base is None or base.state in COLLECTED_STATES:
        return None
    return f"The base document {base.url} was not collected: {base.reason}"


def _may_pass(base: Document) -> bool:
    """Whether another try may succeed; an error of a component, which has a rule of its own, stays."""
    if base.reason is not None and base.reason.code == "robots_error":
        return True
    return base.rule in (None, ROBOTS_RULE) and (base.state in PASSING_STATES or base.state >= 500)
