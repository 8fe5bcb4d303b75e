"""Reader of streams: due sources, server queues and results, as the Scrapy components need them.

It is the `CrawlSession` of the Scrapy components, as a `Collection` is while an item is collected. `PollReader` reads
one source once.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.times import SteadyClock
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.politeness import Politeness
from tarantula.models import Source, SourceState
from tarantula.scope.servers import ServerSettings
from tarantula.store.leases import ReaderLeases
from tarantula.store.server_settings import effective_server_settings
from tarantula.streams.adapters.base import SourceReading
from tarantula.streams.history.levels import SECOND
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.ingest.value_typing import FailedReading, IngestRequest, IngestResult, UnchangedReading
from tarantula.streams.reading.servers import ServerDelays, ServerLeaseManager, VisitQueue
from tarantula.streams.reading.visits import DueHeap, FollowedSource, ReadAttempt, StreamVisit, spread_late
from tarantula.streams.reading.writer import (
    NO_PUBLICATION,
    ReadingGroupResult,
    ReadingWriter,
    SourceTable,
    SourceTableChanges,
    followed_source,
)
from tarantula.streams.sources.config import SourceStatus
from tarantula.streams.sources.registry import get

LEASE_LEAD_MICROSECONDS = 2 * SECOND
"""Time before a source is due at which the lease of its server is requested."""
EXCLUDED_SENTENCE = "The server {server} is excluded: `tarantula server show {server}` says so."


class ReaderLimits(NamedTuple):
    """Limits of requests that are not for a source: robots.txt, and resources of a page in the browser."""

    robots: bool = True
    timeout: float = 60.0
    max_size: int = 5_000_000


class StreamReader:
    """State that the Scrapy components share while streams are read."""

    config = ReaderLimits()
    is_done = False
    """Whether everything has been read; only a poll ends."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.installation = installation
        self.database = database
        self.egress = EgressPolicy.of(installation)
        """Which addresses may be connected to without a source that names or allows others."""
        self.queue = self.frontier = VisitQueue()
        self._delays = ServerDelays()
        self.politeness = Politeness(1.0)
        self.politeness.delays = self._delays
        self.counts: Counter[str] = Counter()
        """Counters for the Scrapy stats."""
        self.trouble: TarantulaError | None = None
        """Error that stopped the reader, if any."""
        self.is_reading = False
        """Whether this process is the active reader; of several processes only one reads."""
        self._followed: dict[int, FollowedSource] = {}
        self._soon: DueHeap[FollowedSource] = DueHeap()
        self._due: DueHeap[FollowedSource] = DueHeap()
        self._excluded: frozenset[str] = frozenset()
        self._leases = ReaderLeases()
        self._writer: ReadingWriter | None = None
        self._source_table = SourceTable()
        self._clock = SteadyClock()

    @property
    def writer(self) -> ReadingWriter:
        assert self._writer is not None, "reading was not begun"
        return self._writer

    @property
    def is_drained(self) -> bool:
        """Whether this machine is being emptied: another one reads."""
        return self._leases.is_drained

    @property
    def may_visit(self) -> bool:
        """Whether this process is the active reader and its leases are valid."""
        return self.is_reading and self.writer.has_leases

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Register this process as a reader and start the writer thread."""
        self._loop = loop
        self._on_work = on_work
        with self.database.session() as session:
            self._leases.join(session.connection())
        self.database.log_outages()
        self._writer = ReadingWriter(
            self.database.leasing_engine, self._leases, loop, self._apply_result, self._source_table
        )
        self._servers = ServerLeaseManager(self.queue, self.politeness, self._writer, loop, on_work)
        self._writer.start()

    def end(self) -> None:
        """Store pending readings and return all server leases."""
        if self._writer is not None:
            self._servers.return_leases(self.queue)
            self._writer.close()
            with self.database.session() as session:
                self._leases.leave(session.connection())

    def egress_of(self, visit: StreamVisit) -> EgressPolicy:
        """Return which addresses a visit may connect to, redirects included: its source names or allows more."""
        source = visit.sources[0]
        return EgressPolicy.of(self.installation, [source.url], allow_private=source.config.allow_private)

    def now(self) -> int:
        """Return the current time in microseconds since 1970."""
        return int(self._clock.time() * SECOND)

    def next(self) -> StreamVisit | None:
        """Return the next visit that is allowed now; ``None`` if there is none."""
        if not self.may_visit:
            return None
        now = self.now()
        for source in self._due.pop_until(now):
            if source.is_gone:
                self.queue.done(source.server, self._loop.time())
            else:
                self.queue.add(source)
        visit = self.queue.next(self._loop.time())
        while visit is not None and visit.ready is not None:
            if visit.ready.done():
                self.queue.release(visit, 0.0)
            else:
                visit.ready.set_result(None)
            visit = self.queue.next(self._loop.time())
        return visit

    def next_time(self) -> float | None:
        """Return the time of the next visit, on the loop's clock; ``None`` if unknown."""
        if not self.may_visit:
            return None
        now = self._loop.time()
        due = self._due.first()
        moments = [
            self.queue.next_due(),
            None if due is None else now + max(due - self.now(), 0) / SECOND,
        ]
        return min((moment for moment in moments if moment is not None), default=None)

    def tick(self) -> None:
        """Request the leases that are needed soon and return unused ones; called several times a second."""
        if not self.is_reading:
            return
        for source in self._soon.pop_until(self.now() + LEASE_LEAD_MICROSECONDS):
            if not source.is_gone:
                self._expect(source)
        self._servers.update()

    def holds(self, visit: StreamVisit) -> bool:
        """Whether the server stays occupied until the browser has rendered the page."""
        return visit.needs_browser

    def release(self, visit: StreamVisit) -> None:
        """End a visit, and start the pause of its server."""
        now = get_running_loop().time()
        self.queue.visited(visit.server, now)
        self.queue.release(visit, now + self.politeness.pause(visit.server))

    @asynccontextmanager
    async def occupied(self, server: str) -> AsyncIterator[None]:
        """Occupy a server for one request that is made elsewhere: wait for its turn, and start its pause afterwards."""
        visit = StreamVisit((object(),), "", server, ready=self._loop.create_future())
        assert visit.ready is not None
        self.queue.expect(server)
        self.queue.put(visit)
        self._on_work()
        try:
            await visit.ready
            yield
        finally:
            self.queue.at(server).waiting.pop(visit.key, None)
            self.release(visit)
            self.queue.done(server, self._loop.time())

    def follow_redirect(self, visit: StreamVisit, onward: StreamVisit) -> None:
        """Queue the visit that a redirect leads to, for the same sources."""
        for _ in visit.sources:
            self.queue.expect(onward.server)
            self.queue.done(visit.server, self._loop.time())
        self.queue.put(onward)
        self._on_work()

    def postpone(self, visit: StreamVisit) -> None:
        """Queue a visit again that could not be made, for when the pause of its server is over."""
        self.queue.put(visit)
        self._on_work()

    async def store(self, attempt: ReadAttempt) -> IngestResult | None:
        """Store the outcome of one source; its visit is rescheduled when all of its sources are stored."""
        source, outcome, at, visit = attempt.source, attempt.outcome, attempt.at, attempt.visit
        visit.ended_at = visit.ended_at or self.now()
        due = source.next_due(visit.ended_at)
        result = None
        if not source.is_gone:
            request = IngestRequest(source.id, source.config, outcome, at, due, attempt.validators, source.revision)
            result = await self.writer.store(request)
        self.queue.done(visit.server, self._loop.time())
        if result is not None:
            self._count_reading(result, outcome)
            source.config = result.config
            source.revision = result.revision or source.revision
            if isinstance(outcome, SourceReading):
                source.memory = outcome.memory
            if result.validators is not None:
                source.validators = result.validators
        source.read_at = at
        visit.stored.append((source, due))
        if len(visit.stored) == len(visit.sources):
            self._reschedule(visit)
        return result

    def _reschedule(self, visit: StreamVisit) -> None:
        """Schedule the sources of a visit together, so that those of one page share the next visit too."""
        for source, due in visit.stored:
            if not source.is_gone:
                # An overdue source is read at once, and only once.
                self._schedule(source, due)

    def count(self, stat: str, number: int = 1) -> None:
        """Add to a counter of the stats."""
        self.counts[stat] += number

    def is_excluded(self, server: str) -> bool:
        """Whether the server settings exclude a server."""
        return server in self._excluded

    def _count_reading(self, result: IngestResult, outcome: SourceReading | FailedReading | UnchangedReading) -> None:
        self.count("stream/reading_count")
        self.count(f"stream/status_count/{result.status}")
        self.count("stream/event_count", len(result.events))
        if isinstance(outcome, UnchangedReading):
            self.count("stream/unchanged_count")

    def _apply_result(self, result: ReadingGroupResult) -> None:
        """Apply the result of a write group: active reader, leases, changed sources."""
        if result.is_reading is not None and result.is_reading != self.is_reading:
            self.is_reading = result.is_reading
            if not self.is_reading:
                self._apply(SourceTableChanges(gone=list(self._followed)))
        self._servers.apply(result)
        if result.changes is not None:
            self._apply(result.changes)
            self._on_work()

    def _apply(self, changes: SourceTableChanges) -> None:
        if changes.is_complete:
            changes = self._compared(changes)
        for identity in changes.gone:
            source = self._followed.pop(identity, None)
            if source is not None:
                source.is_gone = True
                self._delays.remove(source)
        if changes.settings is not None:
            self._apply_settings(changes.settings)
        now = self.now()
        late: dict[str, int] = {}
        for source in changes.new:
            self._followed[source.id] = source
            self._delays.add(source)
            due = self._first_due(source, now)
            if due <= now and source.read_at is not None and source.due_at:
                due = spread_late(late.setdefault(source.url, len(late)), now, source.config.interval)
            self._schedule(source, due)

    def _compared(self, changes: SourceTableChanges) -> SourceTableChanges:
        """Return the differences between all sources of the table and those that are followed."""
        now = {source.id: source.revision for source in changes.new}
        before = {source.id: source.revision for source in self._followed.values()}
        return SourceTableChanges(
            new=[source for source in changes.new if before.get(source.id) != source.revision],
            gone=[identity for identity, revision in before.items() if now.get(identity) != revision],
            settings=changes.settings,
        )

    def _first_due(self, source: FollowedSource, now: int) -> int:
        """Return the first due time of a source in this process: now, if it is overdue."""
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
        self.queue.expect(source.server)
        self._due.push(source.due_at, source)

    def _refuse(self, source: FollowedSource, why: FailedReading) -> None:
        """Store that a source cannot be read, and schedule the next try."""
        now = self.now()
        due = max(source.next_due(now), now + LEASE_LEAD_MICROSECONDS + SECOND)
        self.writer.store(IngestRequest(source.id, source.config, why, now, due))
        self._soon.push(due, source)

    def _apply_settings(self, settings: dict[str, ServerSettings]) -> None:
        self._excluded = frozenset(name for name, own in settings.items() if own.excluded)
        self._delays.own = {name: own.delay for name, own in settings.items() if own.delay is not None}


class _StaticSourceTable(SourceTable):
    """A source table without changes."""

    def changes(self, session: Session) -> SourceTableChanges:
        return SourceTableChanges()


class PollReader(StreamReader):
    """Reads one source once, under the same rules as the reader, without storing the outcome."""

    def __init__(self, installation: Config, database: Database, name: str) -> None:
        super().__init__(installation, database)
        self._name = name
        self._source_table = _StaticSourceTable()
        self.attempt: ReadAttempt | None = None
        """Outcome of the reading."""

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Load the source and schedule it at once."""
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

    async def store(self, attempt: ReadAttempt) -> IngestResult | None:
        """Keep the outcome in `attempt` instead of storing it."""
        self.attempt, self.is_done = attempt, True
        return None

    def _refuse(self, source: FollowedSource, why: FailedReading) -> None:
        visit = StreamVisit(source.key, source.url, source.server, [source])
        self.attempt, self.is_done = ReadAttempt(visit, source, why, self.now()), True

    def _apply_result(self, result: ReadingGroupResult) -> None:
        result.is_reading = result.changes = None
        super()._apply_result(result)


class _DryRunRollback(Exception):
    """Rolls the transaction of a dry run back."""


def ingest_polled(database: Database, attempt: ReadAttempt, *, is_dry: bool) -> IngestResult:
    """Ingest the outcome of a poll; with *is_dry*, only return what would be stored."""
    results: list[IngestResult] = []
    try:
        with database.session() as session:
            source = session.get_one(Source, attempt.source.id)
            read = attempt.source
            results.append(ingest_reading(session, source, read.config, attempt.outcome, attempt.at, read.revision))
            # The active reader has an older memory of the source; the new revision makes it reload.
            source.revision += 1
            if is_dry:
                raise _DryRunRollback
    except _DryRunRollback:
        pass
    return results[0]
