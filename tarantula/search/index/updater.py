"""One look at what happened since the last: documents are read, items ranked, the index brought up to date."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.index.indexer import Indexer
from tarantula.search.index.storage import BusyIndex, Index
from tarantula.search.index.storage_part_place import Place
from tarantula.search.ranks.ranking import rank_items
from tarantula.search.texts.reader import Reader
from tarantula.store.journal import Follower, Happened, given_away, head, note
from tarantula.tables.publications import Item

ENTRIES = 50
"""Of the journal, whose documents are read, or whose items are ranked, at a time."""


class Done(NamedTuple):
    """What a look came to."""

    read: int
    indexed: int
    place: int
    head: int
    """The last entry of the journal: how far there is to go."""
    is_everything: bool
    """Whether nothing was left to do; the place may lag behind, while others write."""


class Following:
    """Keeps the index of an installation up to date; only one process at a time can."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.index = Index(folder_of(installation), is_for_writing=True)
        # Whoever has it, does everything: two that read the same documents would do it twice.
        self.index.hold()
        self._database = database
        self._place = Place(folder_of(installation).parent / "reader.json", 1)
        self._reader = Reader(installation, database)
        self._indexer = Indexer(database, self.index)
        with database.reading() as session:
            self._indexer.check(session.connection())
            # A database that was put back is read from the beginning.
            place = self._place.read() if self._place.read() <= given_away(session.connection()) else 0
        self._to_read = Follower(place, [Happened.COLLECTED, Happened.ENDED])

    def step(self) -> Done:
        """Do the next part."""
        with self._database.reading() as session:
            entries = self._to_read.next(session.connection(), ENTRIES)
            last = head(session.connection())
        read = self._reader.read(entry for entry in entries if entry.kind is Happened.COLLECTED)
        # Behind what was read: the names of links are in it.
        rank_items(self._database, (entry for entry in entries if entry.kind is Happened.ENDED))
        if self._to_read.place != self._place.read():
            self._place.write(self._to_read.place)
        step = self._indexer.step()
        is_everything = not entries and step.is_up_to_date
        return Done(read, step.documents, min(step.place, self._to_read.place), last, is_everything)


def folder_of(installation: Config) -> Path:
    """Return where the index of an installation is."""
    return installation.home / "search" / "index"


def forget_index(installation: Config) -> None:
    """Remove the index; it is built anew from the journal's beginning."""
    shutil.rmtree(folder_of(installation), ignore_errors=True)


def wish_all_read(database: Database) -> None:
    """Ask for every item to be read again by whoever has its bytes, and ranked again by what was read."""
    with database.session() as session:
        items = session.execute(select(Item.id, Item.finished_at).order_by(Item.id)).all()
        for number, _ in items:
            note(session.connection(), Happened.COLLECTED, number)
        for number, finished_at in items:
            if finished_at is not None:
                note(session.connection(), Happened.ENDED, number)


def caught_up(installation: Config, database: Database, show: Callable[[int, int], None]) -> Index:
    """Return the index of an installation, brought up to date unless another process does that."""
    try:
        following = Following(installation, database)
    except BusyIndex:
        return Index(folder_of(installation))
    done = following.step()
    while not done.is_everything:
        show(done.place, done.head)
        done = following.step()
    return following.index
