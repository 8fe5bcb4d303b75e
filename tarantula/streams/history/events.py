"""Events of a source: store new ones, and read the newest of each series."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session, aliased

from tarantula.core.config import Config
from tarantula.core.times import LOCALTIME_FILE
from tarantula.models import Event, Forgotten, Series
from tarantula.store import bulk
from tarantula.store.bulk import chunks
from tarantula.streams.history.levels import EARLIEST_TIME, LATEST_TIME, MINUTE, StaleMark, mark_stale
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
FALLBACK_ZONE = "UTC"
FieldAndRow = tuple[str, str]
SourceFieldAndRow = tuple[int, str, str]


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


def series_of(session: Session, source_id: int, places: Iterable[FieldAndRow]) -> dict[FieldAndRow, int]:
    """Return the series ids of fields and rows of a source; missing series are created."""
    with_source = [(source_id, field, row) for field, row in places]
    return {(field, row): identity for (_, field, row), identity in series_of_many(session, with_source).items()}


def series_of_many(session: Session, places: Collection[SourceFieldAndRow]) -> dict[SourceFieldAndRow, int]:
    """Return the series ids of fields and rows of several sources; missing series are created."""
    sources = sorted({source_id for source_id, _, _ in places})
    known = _load(session, sources)
    missing = [one for one in dict.fromkeys(places) if one not in known]
    if missing:
        _create(session, missing)
        known |= _load(session, sorted({source_id for source_id, _, _ in missing}))
    return {one: known[one] for one in places}


def _load(session: Session, sources: Sequence[int]) -> dict[SourceFieldAndRow, int]:
    known: dict[SourceFieldAndRow, int] = {}
    for batch in chunks(sources):
        chosen = select(Series.source_id, Series.field, Series.row, Series.id).where(Series.source_id.in_(batch))
        known.update(((source_id, field, row), identity) for source_id, field, row, identity in session.execute(chosen))
    return known


def known_series(session: Session, source_id: int) -> dict[FieldAndRow, int]:
    """Return all series of a source, in order of creation."""
    rows = session.execute(
        select(Series.field, Series.row, Series.id).where(Series.source_id == source_id).order_by(Series.id)
    )
    return {(field, row): identity for field, row, identity in rows}


def zone_name() -> str:
    """Return the time zone of the installation or of the machine; UTC if unknown."""
    zone = Config().zone
    name = zone.key if isinstance(zone, ZoneInfo) else FALLBACK_ZONE
    if name in _known_zones():
        return name
    return _named_by(LOCALTIME_FILE) or FALLBACK_ZONE


@cache
def _known_zones() -> frozenset[str]:
    # Cached: it reads a directory of 600 files.
    return frozenset(available_timezones())


def _named_by(link: Path) -> str | None:
    parts = link.resolve().parts
    name = "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""
    return name if name in _known_zones() else None


def _create(session: Session, missing: Sequence[SourceFieldAndRow]) -> None:
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    zone = zone_name()
    rows = [{"source_id": source_id, "field": field, "row": row, "zone": zone} for source_id, field, row in missing]
    session.execute(dialect.insert(Series).on_conflict_do_nothing(), rows)
