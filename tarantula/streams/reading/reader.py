"""Reader of streams: due sources, server queues and results, as the Scrapy components need them.

To the Scrapy components it is what a collection is while an item is collected. `PollReader` reads one source once.
"""

from __future__ import annotations

import time
from asyncio import AbstractEventLoop, get_running_loop
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.fetch.politeness import Politeness
from tarantula.models import Source, SourceState
from tarantula.publications.servers import effective_server_settings
from tarantula.scope.servers import ServerSettings
from tarantula.store.leases import ReaderLeases
from tarantula.streams.adapters.base import SourceReading
from tarantula.streams.ingest.outcome import FailedReading, IngestRequest, IngestResult, UnchangedReading
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.reading.answers import ReadAttempt
from tarantula.streams.reading.servers import ServerDelays, ServerLeaseManager, VisitQueue
from tarantula.streams.reading.source_changes import NO_PUBLICATION, SourceTable, SourceTableChanges, followed_source
from tarantula.streams.reading.visits import MICROSECONDS_PER_SECOND, DueHeap, FollowedSource, StreamVisit, spread_late
from tarantula.streams.reading.writer import ReadingGroupResult, ReadingWriter
from tarantula.streams.sources.config import SourceStatus
from tarantula.streams.sources.registry import get

LEASE_LEAD_MICROSECONDS = 2 * MICROSECONDS_PER_SECOND
"""How long before a source is due its server is asked for."""
EXCLUDED_SENTENCE = "The server {server} is excluded: `tarantula server show {server}` says so."


class ReaderLimits(NamedTuple):
    """What holds for requests beside those of sources: for a robots.txt, for what a browser asks for."""

    robots: bool = True
    timeout: float = 60.0
    max_size: int = 5_000_000


class StreamReader:
    """What the Scrapy components share while streams are read."""

    config = ReaderLimits()
    is_done = False
    """Whether there is nothing left to read, ever."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.installation = installation
        self.database = database
        self.turns = self.frontier = VisitQueue()
        self._delays = ServerDelays()
        self.politeness = Politeness(1.0)
        self.politeness.delays = self._delays
        self.counts: Counter[str] = Counter()
        """What is counted for the stats."""
        self.trouble: TarantulaError | None = None
        """What stopped it, if something went wrong."""
        self.is_reading = False
        """Whether it is this process that reads, and not another."""
        self._sources: dict[int, FollowedSource] = {}
        self._soon: DueHeap[FollowedSource] = DueHeap()
        self._due: DueHeap[FollowedSource] = DueHeap()
        self._excluded: frozenset[str] = frozenset()
        self._leases = ReaderLeases()
        self._keeper: ReadingWriter | None = None
        self._table = SourceTable()

    @property
    def keeper(self) -> ReadingWriter:
        """The thread that stores what is read."""
        assert self._keeper is not None, "reading was not begun"
        return self._keeper

    @property
    def may_visit(self) -> bool:
        """Whether this process may visit anybody: it is the one that reads, and everybody knows that it is alive."""
        return self.is_reading and self.keeper.has_leases

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Become known as somebody who reads, and be ready to store."""
        self._loop = loop
        self._on_work = on_work
        with self.database.session() as session:
            self._leases.join(session.connection())
        self._keeper = ReadingWriter(self.database.engine, self._leases, loop, self._hear, self._table)
        self._servers = ServerLeaseManager(self.turns, self.politeness, self._keeper, loop, on_work)
        self._keeper.start()

    def end(self) -> None:
        """Store what is left, and give back every server."""
        if self._keeper is not None:
            self._servers.give_back(self.turns)
            self._keeper.close()
            with self.database.session() as session:
                self._leases.leave(session.connection())

    def now(self) -> int:
        """Return the time in microseconds since 1970."""
        return int(time.time() * MICROSECONDS_PER_SECOND)

    def next(self) -> StreamVisit | None:
        """Hand out the next visit that may be made now."""
        if not self.may_visit:
            return None
        now = self.now()
        for source in self._due.pop_until(now):
            if source.is_gone:
                self.turns.done(source.server, self._loop.time())
            else:
                self.turns.add(source)
        visit = self.turns.next(self._loop.time())
        while visit is not None and visit.ready is not None:
            if visit.ready.done():
                self.turns.release(visit, 0.0)
            else:
                visit.ready.set_result(None)
            visit = self.turns.next(self._loop.time())
        return visit

    def next_time(self) -> float | None:
        """When the next visit may be, on the loop's clock."""
        if not self.may_visit:
            return None
        now = self._loop.time()
        due = self._due.first()
        moments = [
            self.turns.next_due(),
            None if due is None else now + max(due - self.now(), 0) / MICROSECONDS_PER_SECOND,
        ]
        return min((moment for moment in moments if moment is not None), default=None)

    def tick(self) -> None:
        """See which servers will be needed and which are not any more; to be called a few times a second."""
        if not self.is_reading:
            return
        for source in self._soon.pop_until(self.now() + LEASE_LEAD_MICROSECONDS):
            if not source.is_gone:
                self._expect(source)
        self._servers.look()

    def holds(self, visit: StreamVisit) -> bool:
        """Whether the server is kept until a browser is done with the page."""
        return visit.needs_browser

    def release(self, visit: StreamVisit) -> None:
        """Hear that a visit is over; the server is left alone for a while."""
        now = get_running_loop().time()
        self.turns.visited(visit.server, now)
        self.turns.release(visit, now + self.politeness.pause(visit.server))

    @asynccontextmanager
    async def borrowing(self, server: str) -> AsyncIterator[None]:
        """Have a server for one visit that is made by somebody else: wait for its turn, and leave it alone then."""
        visit = StreamVisit((object(),), "", server, ready=self._loop.create_future())
        assert visit.ready is not None
        self.turns.expect(server)
        self.turns.put(visit)
        self._on_work()
        try:
            await visit.ready
            yield
        finally:
            self.turns.at(server).waiting.pop(visit.key, None)
            self.release(visit)
            self.turns.done(server, self._loop.time())

    def go_on(self, visit: StreamVisit, onward: StreamVisit) -> None:
        """Let the visit wait that a redirect leads to, for the same sources."""
        for _ in visit.sources:
            self.turns.expect(onward.server)
            self.turns.done(visit.server, self._loop.time())
        self.turns.put(onward)
        self._on_work()

    async def keep(self, attempt: ReadAttempt) -> IngestResult | None:
        """Keep what came of one source; it is due again when that is done for all sources of the visit."""
        source, outcome, at, visit = attempt.source, attempt.outcome, attempt.at, attempt.visit
        visit.over_at = visit.over_at or self.now()
        due = source.next_due(visit.over_at)
        kept = None
        if not source.is_gone:
            made = IngestRequest(source.id, source.config, outcome, at, due, attempt.validators, source.revision)
            kept = await self.keeper.keep(made)
        self.turns.done(visit.server, self._loop.time())
        if kept is not None:
            self._count_reading(kept, outcome)
            source.config = kept.config
            source.revision = kept.revision or source.revision
            if isinstance(outcome, SourceReading):
                source.memory = outcome.memory
            if kept.validators is not None:
                source.validators = kept.validators
        source.read_at = at
        visit.kept.append((source, due))
        if len(visit.kept) == len(visit.sources):
            self._go_on_with(visit)
        return kept

    def _go_on_with(self, visit: StreamVisit) -> None:
        """Let the sources of a visit be due again, together: those of the same page are asked for by one visit."""
        for source, due in visit.kept:
            if not source.is_gone:
                # If that is over by now, it is read at once: late, and once.
                self._schedule(source, due)

    def count(self, stat: str, number: int = 1) -> None:
        """Add to a stat."""
        self.counts[stat] += number

    def is_excluded(self, server: str) -> bool:
        """Whether nobody may visit a server."""
        return server in self._excluded

    def _count_reading(self, kept: IngestResult, outcome: SourceReading | FailedReading | UnchangedReading) -> None:
        self.count("stream/reading_count")
        self.count(f"stream/status_count/{kept.status}")
        self.count("stream/event_count", len(kept.events))
        if isinstance(outcome, UnchangedReading):
            self.count("stream/unchanged_count")

    def _hear(self, news: ReadingGroupResult) -> None:
        """Take in what a group brought about."""
        if news.is_reading is not None and news.is_reading != self.is_reading:
            self.is_reading = news.is_reading
            if not self.is_reading:
                self._apply(SourceTableChanges(gone=list(self._sources)))
        self._servers.hear(news)
        if news.changes is not None:
            self._apply(news.changes)
            self._on_work()

    def _apply(self, changes: SourceTableChanges) -> None:
        for identity in changes.gone:
            source = self._sources.pop(identity, None)
            if source is not None:
                source.is_gone = True
                self._delays.forget(source)
        if changes.settings is not None:
            self._go_by(changes.settings)
        now = self.now()
        late: dict[str, int] = {}
        for source in changes.new:
            self._sources[source.id] = source
            self._delays.note(source)
            due = self._first_due(source, now)
            if due <= now and source.read_at is not None and source.due_at:
                due = spread_late(late.setdefault(source.url, len(late)), now, source.config.interval)
            self._schedule(source, due)

    def _first_due(self, source: FollowedSource, now: int) -> int:
        """When a source is due that was not read by this process before: now, if its time passed meanwhile."""
        if not source.due_at or source.read_at is None:
            return now
        return min(source.due_at, source.next_due(now))

    def _schedule(self, source: FollowedSource, due: int) -> None:
        source.due_at = due
        if due <= self.now() + LEASE_LEAD_MICROSECONDS:
            self._expect(source)
        else:
            self._soon.push(due, source)

    def _expect(self, source: FollowedSource) -> None:
        if self.is_excluded(source.server):
            self._refuse(source, FailedReading(SourceStatus.REFUSED, EXCLUDED_SENTENCE.format(server=source.server)))
            return
        self.turns.expect(source.server)
        self._due.push(source.due_at, source)

    def _refuse(self, source: FollowedSource, why: FailedReading) -> None:
        """Take note that a source cannot be read at all."""
        now = self.now()
        due = max(source.next_due(now), now + LEASE_LEAD_MICROSECONDS + MICROSECONDS_PER_SECOND)
        self.keeper.keep(IngestRequest(source.id, source.config, why, now, due))
        self._soon.push(due, source)

    def _go_by(self, settings: dict[str, ServerSettings]) -> None:
        self._excluded = frozenset(name for name, own in settings.items() if own.excluded)
        self._delays.own = {name: own.delay for name, own in settings.items() if own.delay is not None}


class _StaticSourceTable(SourceTable):
    """A table in which nothing ever changes."""

    def look(self, session: Session) -> SourceTableChanges:
        """Nothing is new."""
        return SourceTableChanges()


class PollReader(StreamReader):
    """Reads one source, under the same rules as whoever reads them all, and leaves what came of it to be looked at."""

    def __init__(self, installation: Config, database: Database, name: str) -> None:
        super().__init__(installation, database)
        self._name = name
        self._table = _StaticSourceTable()
        self.attempt: ReadAttempt | None = None
        """What came of it."""

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Be ready to read it."""
        super().begin(loop, on_work)
        with self.database.reading() as session:
            source = get(session, self._name)
            followed = followed_source(source, session.get_one(SourceState, source.id))
            settings = effective_server_settings(session.connection(), NO_PUBLICATION)
        self.is_reading, self.is_done = True, followed is None
        if followed is not None:
            followed.due_at, followed.validators = 0, {}
            self._apply(SourceTableChanges(new=[followed], settings=settings))
            self.tick()

    async def keep(self, attempt: ReadAttempt) -> IngestResult | None:
        """Leave it to be looked at."""
        self.attempt, self.is_done = attempt, True
        return None

    def _refuse(self, source: FollowedSource, why: FailedReading) -> None:
        visit = StreamVisit(source.key, source.url, source.server, [source])
        self.attempt, self.is_done = ReadAttempt(visit, source, why, self.now()), True

    def _hear(self, news: ReadingGroupResult) -> None:
        news.is_reading = news.changes = None
        super()._hear(news)


class _DryRunRollback(Exception):
    """Nothing is to be kept."""


def ingest_polled(database: Database, attempt: ReadAttempt, *, is_dry: bool) -> IngestResult:
    """Keep what a poll read, or only say what would be kept."""
    kept: list[IngestResult] = []
    try:
        with database.session() as session:
            source = session.get_one(Source, attempt.source.id)
            read = attempt.source
            kept.append(ingest_reading(session, source, read.config, attempt.outcome, attempt.at, read.revision))
            # Whoever reads it has another memory of it, and looks anew.
            source.revision += 1
            if is_dry:
                raise _DryRunRollback
    except _DryRunRollback:
        pass
    return kept[0]
