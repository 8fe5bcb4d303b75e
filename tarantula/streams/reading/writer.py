"""Writer thread of the reader, and the edits of sources that it notices between two rounds."""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.models import Source, SourceState
from tarantula.scope.servers import ServerSettings
from tarantula.store import server_settings
from tarantula.store.bulk import chunks
from tarantula.store.commit_group import GroupCommitThread, resolve_future
from tarantula.store.errors import is_database_away, is_lost_race
from tarantula.store.leases import Lease, ReaderLeases
from tarantula.store.liveness import lock_collector
from tarantula.streams.ingest.readings import ingest_readings
from tarantula.streams.ingest.value_typing import IngestRequest, IngestResult, SourceMemory
from tarantula.streams.reading.visits import FollowedSource
from tarantula.streams.sources.config import SourceStatus
from tarantula.streams.sources.registry import validated_config

logger = logging.getLogger(__name__)

FULL_SCAN_SECONDS = 60.0
"""Time after which all rows are compared, even if the sums are equal."""
NO_PUBLICATION = 0


@dataclass(slots=True)
class SourceTableChanges:
    """Differences between two looks at the table."""

    new: list[FollowedSource] = field(default_factory=list)
    """Added or changed sources."""
    gone: list[int] = field(default_factory=list)
    """Ids of sources that were removed, paused or changed."""
    is_complete: bool = False
    """Whether *new* has all sources that are read, instead of those that were added or changed."""
    settings: dict[str, ServerSettings] | None = None
    """Server settings, if they changed."""


class SourceTable:
    """Detects changes about once a second: compares three sums first, and rows only if the sums differ."""

    def __init__(self) -> None:
        self._sums: tuple[int | None, ...] = ()
        self._revisions: dict[int, int] = {}
        self._settings: dict[str, ServerSettings] | None = None
        self._full_scan_at = 0.0

    def reset(self) -> None:
        """Reload everything at the next look: another process may have read, or the changes were not delivered."""
        self._sums, self._revisions, self._settings = (), {}, None

    def record(self, result: IngestResult) -> None:
        """Record a revision of our own as known, unless another process changed the source just before."""
        if result.revision is not None and self._revisions.get(result.source_id) == result.revision - 1:
            self._revisions[result.source_id] = result.revision

    def changes(self, session: Session) -> SourceTableChanges:
        """Return the changes since the last look."""
        changes = SourceTableChanges(settings=self._changed_settings(session.connection()))
        sums = tuple(session.execute(select(func.count(), func.sum(Source.id), func.sum(Source.revision))).one())
        if sums == self._sums and monotonic() < self._full_scan_at:
            return changes
        changes.is_complete = not self._sums
        self._sums, self._full_scan_at = sums, monotonic() + FULL_SCAN_SECONDS
        rows = session.execute(select(Source.id, Source.revision).where(Source.is_paused.is_(False)))
        now = dict(rows.all())
        changed = [identity for identity, revision in now.items() if self._revisions.get(identity) != revision]
        changes.gone = [identity for identity in self._revisions if now.get(identity) != self._revisions[identity]]
        changes.new = list(_load(session, changed))
        self._revisions = now
        return changes

    def _changed_settings(self, connection: Connection) -> dict[str, ServerSettings] | None:
        settings = server_settings.effective_server_settings(connection, NO_PUBLICATION)
        if settings == self._settings:
            return None
        self._settings = settings
        return settings


def _load(session: Session, ids: Iterable[int]) -> Iterable[FollowedSource]:
    for some in chunks(sorted(ids)):
        chosen = select(Source, SourceState).join(SourceState, SourceState.source_id == Source.id)
        for source, state in session.execute(chosen.where(Source.id.in_(some))):
            followed = followed_source(source, state)
            if followed is not None:
                yield followed


def followed_source(source: Source, state: SourceState) -> FollowedSource | None:
    """Return a source for the reader; if its configuration is invalid, set its status and return ``None``."""
    try:
        config = validated_config(source)
    except TarantulaError as error:
        logger.error("%s is not read: %s", source.name, error)
        state.status, state.sentence = SourceStatus.REFUSED, str(error)
        return None
    return FollowedSource(
        source.id,
        source.revision,
        config,
        SourceMemory.of(state.memory).adapter,
        state.validators,
        state.due_at,
        state.read_at,
    )


class TakeLeases(NamedTuple):
    """Request for server leases, with the pause of each server in seconds."""

    pauses: dict[str, float]


class RequestLeases(NamedTuple):
    """Request to other processes to return some leases."""

    names: list[str]


class ReturnLeases(NamedTuple):
    """Return of leases: remaining pause and seconds since the last visit of each server."""

    waits: dict[str, float]
    ago: dict[str, float]


@dataclass(slots=True)
class ReadingGroup:
    """Work that arrived while the previous group was being written."""

    requests: list[tuple[IngestRequest, Future[IngestResult | None]]] = field(default_factory=list)
    takes: list[tuple[TakeLeases, Future[list[Lease]]]] = field(default_factory=list)
    lease_requests: list[RequestLeases] = field(default_factory=list)
    given_back: list[ReturnLeases] = field(default_factory=list)
    last: bool = False

    def add(self, work: Any) -> None:
        match work:
            case (IngestRequest() as request, future):
                self.requests.append((request, future))
            case (TakeLeases() as take, future):
                self.takes.append((take, future))
            case RequestLeases():
                self.lease_requests.append(work)
            case ReturnLeases():
                self.given_back.append(work)
            case None:
                self.last = True

    def waiters(self) -> list[Future[Any]]:
        """Return the futures that wait for this group."""
        return [*(future for _, future in self.requests), *(future for _, future in self.takes)]


@dataclass(slots=True)
class ReadingGroupResult:
    """Result of a group."""

    stored: list[IngestResult | None] = field(default_factory=list)
    """A result for each reading in order; ``None`` if it was not stored."""
    granted: list[list[Lease]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    contested: list[str] = field(default_factory=list)
    is_reading: bool | None = None
    """Whether this process is the active reader; ``None`` if the group did not check."""
    changes: SourceTableChanges | None = None


class ReadingWriter(GroupCommitThread[ReadingGroup, ReadingGroupResult]):
    """Takes work from the event loop, and resolves its futures there."""

    def __init__(
        self,
        engine: Engine,
        leases: ReaderLeases,
        loop: AbstractEventLoop,
        on_result: Callable[[ReadingGroupResult], None],
        sources: SourceTable,
    ) -> None:
        super().__init__(engine, loop, "keeper")
        self._leases = leases
        self._on_result = on_result
        self._sources = sources
        self._was_reading = False

    def store(self, request: IngestRequest) -> Future[IngestResult | None]:
        """Store a reading; the future is done when the transaction is committed."""
        return self._ask(request)

    def take_leases(self, pauses: dict[str, float]) -> Future[list[Lease]]:
        """Request server leases; the future returns those that were granted."""
        return self._ask(TakeLeases(pauses))

    def request_from_others(self, names: list[str]) -> None:
        """Ask other processes to return leases."""
        self._work.put(RequestLeases(names))

    def return_leases(self, waits: dict[str, float], ago: dict[str, float]) -> None:
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
            self._sources.reset()
            raise

    def _restoring(self) -> AbstractContextManager[None]:
        return self._undo()

    def _write_rows(self, connection: Connection, group: ReadingGroup, beat: bool) -> ReadingGroupResult:
        result = ReadingGroupResult()
        with Session(connection, expire_on_commit=False) as session:
            if beat:
                self._beat(session, result)
            # A process that others consider dead must not store anything: another one reads by now.
            is_alive = not group.requests or lock_collector(connection, self._leases.collector_id)
            result.stored = (
                self._store(session, [request for request, _ in group.requests])
                if is_alive
                else [None] * len(group.requests)
            )
            session.flush()
        for given in group.given_back:
            self._leases.give_back_read(connection, given.waits, given.ago)
        for request in group.lease_requests:
            self._leases.request_release(connection, request.names)
        result.granted = [self._leases.take_named(connection, take.pauses) for take, _ in group.takes]
        return result

    def _beat(self, session: Session, result: ReadingGroupResult) -> None:
        connection = session.connection()
        self._leases.paused_for = self.paused_for
        result.lost = self._leases.beat(connection)
        result.is_reading = self._leases.is_reading(connection)
        if not result.is_reading:
            self._was_reading = False
            return
        if not self._was_reading:
            self._sources.reset()
            self._was_reading = True
        result.contested = self._leases.contested(connection)
        result.changes = self._sources.changes(session)

    def _store(self, session: Session, requests: list[IngestRequest]) -> list[IngestResult | None]:
        if not requests:
            return []
        try:
            with session.begin_nested():
                results = ingest_readings(session, requests)
            for result in results:
                self._sources.record(result)
            return [*results]
        except Exception as error:
            if _is_transient(error):
                raise
            if len(requests) == 1:
                logger.exception("A reading of %s could not be stored.", requests[0].config.name)
                return [None]
        # One reading fails and rolls back the others: store each separately.
        return [result for request in requests for result in self._store(session, [request])]

    def _deliver(self, group: ReadingGroup, result: ReadingGroupResult) -> None:
        self._on_result(result)
        for (_, future), stored in zip(group.requests, result.stored, strict=True):
            resolve_future(future, stored)
        for (_, waiter), leases in zip(group.takes, result.granted, strict=True):
            resolve_future(waiter, leases)


def _is_transient(error: Exception) -> bool:
    """Whether the database is unavailable or a write conflict occurred: then the whole group is retried."""
    return isinstance(error, DBAPIError) and (is_database_away(error) or is_lost_race(error))
