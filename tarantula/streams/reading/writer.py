"""Writer thread of the reader: stores readings in groups, and takes and returns server leases.

Many readings share one transaction. A reading that cannot be stored is left out of it, and does not affect the others.
A process whose heartbeat has expired stores nothing: another process is the reader by then.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tarantula.store.commit_group import GroupCommitThread, resolve_future
from tarantula.store.errors import is_database_away, is_lost_race
from tarantula.store.leases import Lease, ReaderLeases
from tarantula.store.liveness import lock_collector
from tarantula.streams.ingest.outcome import IngestRequest, IngestResult
from tarantula.streams.ingest.readings import ingest_readings
from tarantula.streams.reading.source_changes import SourceTable, SourceTableChanges

logger = logging.getLogger(__name__)


class TakeLeases(NamedTuple):
    """A wish for servers, with the pauses that are kept there."""

    pauses: dict[str, float]


class RequestLeases(NamedTuple):
    """A word to those who have some servers."""

    names: list[str]


class ReturnLeases(NamedTuple):
    """Servers to let go of: how long each must be left alone, and how long ago it was visited."""

    waits: dict[str, float]
    ago: dict[str, float]


@dataclass(slots=True)
class ReadingGroup:
    """Everything that arrived while the last group was being written."""

    made: list[tuple[IngestRequest, Future[IngestResult | None]]] = field(default_factory=list)
    takes: list[tuple[TakeLeases, Future[list[Lease]]]] = field(default_factory=list)
    wishes: list[RequestLeases] = field(default_factory=list)
    given_back: list[ReturnLeases] = field(default_factory=list)
    last: bool = False

    def add(self, work: Any) -> None:
        """Sort a piece of work into its place."""
        match work:
            case (IngestRequest() as made, future):
                self.made.append((made, future))
            case (TakeLeases() as take, future):
                self.takes.append((take, future))
            case RequestLeases():
                self.wishes.append(work)
            case ReturnLeases():
                self.given_back.append(work)
            case None:
                self.last = True

    def waiters(self) -> list[Future[Any]]:
        """Return everyone who waits for this group."""
        return [*(future for _, future in self.made), *(future for _, future in self.takes)]


@dataclass(slots=True)
class ReadingGroupResult:
    """What a group brought about."""

    kept: list[IngestResult | None] = field(default_factory=list)
    """For each reading, in that order; ``None`` for what was not kept."""
    taken: list[list[Lease]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    contested: list[str] = field(default_factory=list)
    is_reading: bool | None = None
    """Whether it is this process that reads, if that was asked."""
    changes: SourceTableChanges | None = None


class ReadingWriter(GroupCommitThread[ReadingGroup, ReadingGroupResult]):
    """Takes readings from the event loop, and answers there."""

    def __init__(
        self,
        engine: Engine,
        leases: ReaderLeases,
        loop: AbstractEventLoop,
        listen: Callable[[ReadingGroupResult], None],
        sources: SourceTable,
    ) -> None:
        super().__init__(engine, loop, "keeper")
        self._leases = leases
        self._listen = listen
        self._sources = sources
        self._was_reading = False

    def keep(self, made: IngestRequest) -> Future[IngestResult | None]:
        """Keep a reading; the future is done when it is committed."""
        return self._ask(made)

    def take(self, pauses: dict[str, float]) -> Future[list[Lease]]:
        """Ask for servers."""
        return self._ask(TakeLeases(pauses))

    def wish(self, names: list[str]) -> None:
        """Ask others for servers."""
        self._work.put(RequestLeases(names))

    def give_back(self, waits: dict[str, float], ago: dict[str, float]) -> None:
        """Let go of servers."""
        self._work.put(ReturnLeases(waits, ago))

    def _new_group(self) -> ReadingGroup:
        return ReadingGroup()

    @contextmanager
    def _undo(self) -> Iterator[None]:
        held = dict(self._leases.held)
        try:
            yield
        except BaseException:
            self._leases.held = held
            self._sources.forget()
            raise

    def _restoring(self) -> AbstractContextManager[None]:
        return self._undo()

    def _write_rows(self, connection: Connection, group: ReadingGroup, beat: bool) -> ReadingGroupResult:
        news = ReadingGroupResult()
        with Session(connection, expire_on_commit=False) as session:
            if beat:
                self._beat(session, news)
            # Fewer than those who wait would hear of it: nothing is kept by one that others take for dead.
            is_known = not group.made or lock_collector(connection, self._leases.collector_id)
            news.kept = self._keep(session, [made for made, _ in group.made]) if is_known else [None] * len(group.made)
            session.flush()
        for given in group.given_back:
            self._leases.give_back_read(connection, given.waits, given.ago)
        for wish in group.wishes:
            self._leases.request_release(connection, wish.names)
        news.taken = [self._leases.take_named(connection, take.pauses) for take, _ in group.takes]
        return news

    def _beat(self, session: Session, news: ReadingGroupResult) -> None:
        connection = session.connection()
        news.lost = self._leases.beat(connection)
        news.is_reading = self._leases.is_reading(connection)
        if not news.is_reading:
            self._was_reading = False
            return
        if not self._was_reading:
            self._sources.forget()
            self._was_reading = True
        news.contested = self._leases.contested(connection)
        news.changes = self._sources.look(session)

    def _keep(self, session: Session, made: list[IngestRequest]) -> list[IngestResult | None]:
        if not made:
            return []
        try:
            with session.begin_nested():
                kept = ingest_readings(session, made)
            for one in kept:
                self._sources.note(one)
            return [*kept]
        except Exception as error:
            if _is_transient(error):
                raise
            if len(made) == 1:
                logger.exception("A reading of %s could not be kept.", made[0].config.name)
                return [None]
        # One of them spoils the others: each by itself, then.
        return [kept for one in made for kept in self._keep(session, [one])]

    def _deliver(self, group: ReadingGroup, news: ReadingGroupResult) -> None:
        self._listen(news)
        for (_, future), kept in zip(group.made, news.kept, strict=True):
            resolve_future(future, kept)
        for (_, waiter), leases in zip(group.takes, news.taken, strict=True):
            resolve_future(waiter, leases)


def _is_transient(error: Exception) -> bool:
    """Whether the database is away, or two wrote the same rows: then the whole group is tried again."""
    return isinstance(error, DBAPIError) and (is_database_away(error) or is_lost_race(error))
