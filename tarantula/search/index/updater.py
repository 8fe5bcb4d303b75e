"""Update the index of an installation: read texts, rank items, index documents."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import Reason
from tarantula.core.states import ItemState
from tarantula.models import Item, SkippedText
from tarantula.search.index.indexer import Indexer
from tarantula.search.index.storage import BusyIndex, JournalPosition, SearchIndex
from tarantula.search.ranks.ranking import rank_items
from tarantula.search.texts.reader import TextReader
from tarantula.store.homes import FilesElsewhere, check_home
from tarantula.store.journal import JournalFollower, JournalKind, append_to_journal, last_assigned_id, last_visible_id

logger = logging.getLogger(__name__)

ENTRIES_PER_STEP = 50
"""Journal entries whose documents are read, or whose items are ranked, in one step."""


class UpdateStep(NamedTuple):
    """Result of one step."""

    read: int
    indexed: int
    place: int
    head: int
    """Last entry of the journal."""
    is_complete: bool
    """Whether nothing was left to do; the position may still lag behind open transactions."""


class IndexUpdater:
    """Keeps the index of an installation up to date; only one process can do so at a time."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.index = SearchIndex(index_folder(installation), is_for_writing=True)
        # The holder of the index also reads texts, so that no document is read twice.
        self.index.lock()
        self._database = database
        self._items = installation.items
        self._elsewhere: set[int] = set()
        """Items in other homes, of which a warning was logged."""
        self._reader_position = JournalPosition(index_folder(installation).parent / "reader.json", 1)
        self._reader = TextReader(installation, database)
        self._indexer = Indexer(database, self.index)
        with database.reading() as session:
            self._indexer.check(session.connection())
            # After a database restore, start from the beginning.
            if self._reader_position.read() > last_assigned_id(session.connection()):
                self._reader_position.write(0)
        self._follower = self._new_follower()

    @property
    def unreadable(self) -> int:
        """Number of documents whose text could not be read from the archive, or whose parser was stopped."""
        return self._reader.unreadable

    @property
    def skipped(self) -> int:
        """How many of them were skipped because their parser was stopped, now or earlier."""
        return self._reader.skipped

    @property
    def stopped(self) -> list[tuple[str, Reason]]:
        """URLs of documents whose parser was stopped now, and why."""
        return self._reader.stopped

    def step(self) -> UpdateStep:
        """Process the next journal entries; after an error the next step processes them again."""
        try:
            return self._step()
        except BaseException:
            self._follower = self._new_follower()
            raise

    def run(self, on_progress: Callable[[int, int], None]) -> None:
        """Process all journal entries."""
        while not (step := self.step()).is_complete:
            on_progress(step.place, step.head)

    def _new_follower(self) -> JournalFollower:
        return JournalFollower(self._reader_position.read(), [JournalKind.COLLECTED, JournalKind.ENDED])

    def _step(self) -> UpdateStep:
        with self._database.reading() as session:
            entries = self._follower.next(session.connection(), ENTRIES_PER_STEP)
            own = [entry for entry in entries if self._is_here(session, entry.item_id)]
            journal_head = last_visible_id(session.connection())
        read = self._reader.read(entry for entry in own if entry.kind is JournalKind.COLLECTED)
        # After the texts were read, since they hold the anchor texts.
        rank_items(self._database, (entry for entry in own if entry.kind is JournalKind.ENDED))
        if self._follower.place != self._reader_position.read():
            self._reader_position.write(self._follower.place)
        step = self._indexer.step()
        is_complete = not entries and step.is_up_to_date
        return UpdateStep(read, step.documents, min(step.place, self._follower.place), journal_head, is_complete)

    def _is_here(self, session: Session, item_id: int) -> bool:
        """Whether the texts of an item are read here, and not by the process that keeps the index of another home."""
        item = session.get(Item, item_id)
        try:
            if item is not None:
                check_home(session, self._items, item)
        except FilesElsewhere as error:
            if item_id not in self._elsewhere:
                logger.warning("%s", error)
            self._elsewhere.add(item_id)
            return False
        return True


def index_folder(installation: Config) -> Path:
    """Return the folder of an installation's index."""
    return installation.home / "search" / "index"


def discard_index(installation: Config) -> None:
    """Remove the index; the next update rebuilds it from the start of the journal."""
    shutil.rmtree(index_folder(installation), ignore_errors=True)


def request_rereading(database: Database) -> None:
    """Add journal entries to read and rank every item again, documents whose parsers were stopped included."""
    with database.session() as session:
        kept = select(Item.id, Item.finished_at).where(Item.state != ItemState.REMOVING)
        items = session.execute(kept.order_by(Item.id)).all()
        session.execute(delete(SkippedText))
        for number, _ in items:
            append_to_journal(session.connection(), JournalKind.COLLECTED, number)
        for number, finished_at in items:
            if finished_at is not None:
                append_to_journal(session.connection(), JournalKind.ENDED, number)


def updated_index(installation: Config, database: Database, on_progress: Callable[[int, int], None]) -> SearchIndex:
    """Return the index of an installation, updated unless another process does so."""
    try:
        updater = IndexUpdater(installation, database)
    except BusyIndex:
        return SearchIndex(index_folder(installation))
    updater.run(on_progress)
    return updater.index
