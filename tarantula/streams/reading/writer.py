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
