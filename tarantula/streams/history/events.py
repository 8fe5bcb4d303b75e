"""Events of series: insert new ones and mark the levels above as stale; query the newest."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session, aliased

from tarantula.models import Event, Forgotten, Series
from tarantula.store import bulk
from tarantula.store.bulk import chunks
from tarantula.streams.history.buckets import EARLIEST_TIME, LATEST_TIME, MINUTE
from tarantula.streams.history.levels import StaleMark, mark_stale
from tarantula.streams.sources.retention import Grain

_RETENTION_LOCK = 0x7A7261_666F7267
"""Key of the advisory lock."""
logger = logging.getLogger(__name__)
_INSERT = """
    INSERT INTO event (series_id, at, value, number, read)
    SELECT column1, column2, column3, column4, column5 FROM ({rows}) AS given
    WHERE true ON CONFLICT DO NOTHING
"""
_INSERT_SQLITE = "INSERT OR IGNORE INTO event (series_id, at, value, number, read) VALUES (?, ?, ?, ?, ?)"
_TYPES = ("integer", "bigint", "text", "float8", "text")
_REFUSED = """
    UPDATE forgotten SET refused = refused + given.column2 FROM ({rows}) AS given
    WHERE forgotten.series_id = given.column1
    AND forgotten.grain = (
        SELECT other.grain FROM forgotten AS other WHERE other.series_id = given.column1
        ORDER BY other.before DESC, other.grain LIMIT 1
    )
"""


def last_values(session: Session, series_ids: Iterable[int]) -> dict[int, Event]:
    """Return the newest event of each series that has any; retention never deletes it."""
    other = aliased(Event)
    newest = select(func.max(other.at)).where(other.series_id == Series.id).correlate(Series).scalar_subquery()
    newest_by_series = dict[int, Event]()
    for batch in chunks(dict.fromkeys(series_ids)):
        rows = session.scalars(
            select(Event)
            .select_from(Series)
            .join(Event, (Event.series_id == Series.id) & (Event.at == newest))
            .where(Series.id.in_(batch))
        )
        newest_by_series |= {event.series_id: event for event in rows}
    return newest_by_series


def newest_events(
    session: Session,
    series_id: int,
    begin: int | None = None,
    end: int | None = None,
    limit: int = 100,
    before: int | None = None,
) -> list[Event]:
    """Return events of a series, newest first, with *begin* <= time < *end*.

    For the next page, pass the time of the last event as *before*.
    """
    chosen = select(Event).where(Event.series_id == series_id)
    if begin is not None:
        chosen = chosen.where(Event.at >= begin)
    for limit_at in (end, before):
        if limit_at is not None:
            chosen = chosen.where(Event.at < limit_at)
    return list(session.scalars(chosen.order_by(Event.at.desc()).limit(limit)))


def lock_out_retention(connection: Connection) -> None:
    """Keep retention from deleting rows until this transaction ends (PostgreSQL; SQLite has a single writer)."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock_shared(%s)", (_RETENTION_LOCK,))


def lock_out_storing(connection: Connection) -> None:
    """Keep others from storing events until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_RETENTION_LOCK,))


class NewEvent(NamedTuple):
    """An event to store: a value that differs from the previous one."""

    series_id: int
    at: int
    """Microseconds since 1970."""
    value: str
    number: float | None
    read: str | None


class StoreResult(NamedTuple):
    """Result of storing events."""

    number: int
    """Number of stored events, without those that were stored before."""
    late: list[NewEvent]
    """Refused events: the rows of their time were deleted, so the levels above could not include them."""


def store_events(session: Session, events: Sequence[NewEvent]) -> int:
    """Store events once each; log those that are refused as too old. Return the number of stored events."""
    stored = store_events_with_result(session, events)
    for series_id, number in Counter(event.series_id for event in stored.late).items():
        logger.warning("%d events of series %d are older than its retention: refused.", number, series_id)
    return stored.number


def store_events_with_result(session: Session, events: Sequence[NewEvent]) -> StoreResult:
    """Store events; return the number, and the events that were refused as too old."""
    if not events:
        return StoreResult(0, [])
    connection = session.connection()
    lock_out_retention(connection)
    limits = refused_before(session, {event.series_id for event in events})
    taken, late = list[NewEvent](), list[NewEvent]()
    for event in events:
        is_late = not limits.get(event.series_id, EARLIEST_TIME) <= event.at < LATEST_TIME
        (late if is_late else taken).append(event)
    if late:
        _count_refused(connection, late)
    if not taken:
        return StoreResult(0, late)
    number = _insert(connection, taken)
    minutes = {(event.series_id, event.at - event.at % MINUTE) for event in taken}
    mark_stale(connection, [StaleMark(series, Grain.MINUTE, start, start + MINUTE) for series, start in minutes])
    return StoreResult(number, late)


def refused_before(session: Session, series_ids: Iterable[int]) -> dict[int, int]:
    """Return, for series with deleted rows, the time before which events are refused."""
    limits = dict[int, int]()
    for batch in bulk.chunks(sorted(series_ids)):
        rows = session.execute(
            select(Forgotten.series_id, func.max(Forgotten.before))
            .where(Forgotten.series_id.in_(batch))
            .group_by(Forgotten.series_id)
        )
        limits.update((series_id, before) for series_id, before in rows)
    return limits


def _insert(connection: Connection, events: Sequence[NewEvent]) -> int:
    if connection.dialect.name == "sqlite":
        return connection.exec_driver_sql(_INSERT_SQLITE, [tuple(event) for event in events]).rowcount
    return bulk.execute_rows(connection, _INSERT, events, _TYPES)


def _count_refused(connection: Connection, late: Sequence[NewEvent]) -> None:
    numbers = Counter(event.series_id for event in late)
    bulk.execute_rows(connection, _REFUSED, sorted(numbers.items()), ("integer", "bigint"))
