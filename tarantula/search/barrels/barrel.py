"""A barrel: answers from an index of its own, which follows the journal in its order.

What it answers from is whole: everything that the journal has up to a place, and nothing behind it. It tells its place
in the database first, and answers from there afterwards; so nobody has had an answer from a place that others cannot
know of. A place that it has told it never goes back behind. It is ready when it has caught up with what the journal
had when it started.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from time import monotonic

from tantivy import Schema

from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnavailableError, TarantulaError
from tarantula.search.completion import complete_query
from tarantula.search.finder import SearchFinder
from tarantula.search.index.indexer import Indexer, IndexerStep
from tarantula.search.index.storage import IndexSnapshot, SearchIndex
from tarantula.search.results import CompletionRequest, Completions, SearchRequest, SearchResults
from tarantula.store.journal import last_visible_id
from tarantula.store.liveness import BarrelHeartbeat, BarrelStatus

HEARTBEAT_SECONDS = 1.0
"""Seconds between two signs of life."""
JOURNAL_POLL_SECONDS = 0.2
"""Seconds between two looks at the journal while nothing happens."""

logger = logging.getLogger(__name__)


class BarrelNotReady(Exception):
    """It cannot be asked yet."""


class BarrelService:
    """Follows, tells where it is, and answers."""

    def __init__(self, database: Database, index: SearchIndex, address: str) -> None:
        self._database = database
        self._index = index
        self._presence = BarrelHeartbeat(address)
        self._indexer = Indexer(database, index, in_order=True)
        self._finder = SearchFinder(self)
        self._seen: IndexSnapshot | None = None
        self._told_of: IndexSnapshot | None = None
        self._telling = Lock()
        self._answered = AnswerStatistics()

    @property
    def folder(self) -> Path:
        """Where its index is."""
        return self._index.folder

    @property
    def schema(self) -> Schema:
        """The fields of its index."""
        return self._index.schema

    def seen(self) -> IndexSnapshot:
        """Return what it answers from, if it is ready."""
        if self._seen is None:
            raise BarrelNotReady
        return self._seen

    def find(self, request: SearchRequest) -> SearchResults:
        """Answer, if it is ready."""
        began = monotonic()
        results = self._finder.find(request)
        self._answered.add(monotonic() - began)
        return results

    def complete(self, wish: CompletionRequest) -> Completions:
        """Return how a query may go on, if it is ready."""
        return complete_query(self, wish.prefix)

    def follow(self, ending: Event) -> None:
        """Follow the journal until *ending*; what the database refuses is tried again."""
        behind, complaint = -1, ""
        while not ending.is_set():
            is_hurrying = False
            try:
                behind = self._head() if behind < 0 else behind
                step = self._step()
                if step.place >= behind and (self._seen is None or step.place > self._seen.place):
                    self._publish(step.place)
                is_hurrying = self._seen is None and not step.is_up_to_date
                complaint = ""
            except DatabaseUnavailableError as error:
                complaint = _say_once(error, complaint)
            if not is_hurrying:
                ending.wait(JOURNAL_POLL_SECONDS)

    def beat(self, ending: Event) -> None:
        """Give signs of life until *ending*, then leave."""
        complaint = ""
        while not ending.is_set():
            try:
                self._tell()
                complaint = ""
            except DatabaseUnavailableError as error:
                complaint = _say_once(error, complaint)
            ending.wait(HEARTBEAT_SECONDS)
        with suppress(DatabaseUnavailableError), self._telling, self._database.session() as session:
            self._presence.leave(session.connection())

    def _head(self) -> int:
        with self._database.reading() as session:
            return last_visible_id(session.connection())

    def _step(self) -> IndexerStep:
        try:
            return self._indexer.step()
        except ValueError as error:
            raise TarantulaError(
                f"The index in {self._index.folder} cannot be brought up to date ({error}). "
                "Make room on its disk; if it is damaged, build it anew with `tarantula barrel --rebuild`."
            ) from error

    def _publish(self, place: int) -> None:
        """Tell the place, then answer from there."""
        seen = IndexSnapshot(self._index.searcher(), place)
        self._tell(seen)
        if self._seen is None:
            logger.info("Ready, with %s documents.", f"{seen.searcher.num_docs:,}")
        self._seen = seen

    def _tell(self, new: IndexSnapshot | None = None) -> None:
        # One at a time: a sign of life does not take back what was told meanwhile.
        with self._telling:
            self._told_of = new or self._told_of
            with self._database.session() as session:
                self._presence.tell(session.connection(), self._figures())

    def _figures(self) -> BarrelStatus:
        seen = self._told_of
        if seen is None:
            return BarrelStatus(False, self._index.place, self._index.searcher().num_docs, *self._answered.both())
        return BarrelStatus(True, seen.place, seen.searcher.num_docs, *self._answered.both())


class AnswerStatistics:
    """How many questions were answered, and in how many seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        with self._lock:
            self._number += 1
            self._seconds += seconds

    def both(self) -> tuple[int, float]:
        """Return the number and the seconds."""
        with self._lock:
            return self._number, self._seconds


def _say_once(error: DatabaseUnavailableError, said: str) -> str:
    if str(error) != said:
        logger.error("%s", error)
    return str(error)
