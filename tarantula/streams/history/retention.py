"""Retention: delete old events and levels that are aggregated above, record it, and summarise what is stored."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, delete, func, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.models import Event, Forgotten, Level, Series, Source, StaleLevel
from tarantula.streams.history.events import lock_out_storing
from tarantula.streams.history.levels import SECOND, BucketCalendar, calendar_of, moment_of
from tarantula.streams.sources.retention import Grain, Retention, RetentionLimit

ROWS_PER_TRANSACTION = 20_000
"""Rows per transaction; more if one bucket of the level above has more."""
SPARKLINE_BARS = "▁▂▃▄▅▆▇█"
MAX_SPARKLINE_SPREAD = 1e300


class ForgottenRows(NamedTuple):
    """Rows of one series that were deleted."""

    series_id: int
    grain: Grain
    rows: int
    before: int
    """Cut-off time in microseconds since 1970."""


def apply_retention(database: Database, now: int | None = None) -> list[ForgottenRows]:
    """Delete rows beyond the retention of their source; return what was deleted."""
    moment = time.time_ns() // 1000 if now is None else now
    deleted = dict[tuple[int, Grain], ForgottenRows]()
    for series_id, calendar, retention in _series(database):
        for grain in Grain:
            limit = retention.of(grain)
            while limit != RetentionLimit() and (
                one := _delete_batch(database, series_id, calendar, grain, limit, moment)
            ):
                earlier = deleted.get((series_id, grain))
                deleted[series_id, grain] = one._replace(rows=one.rows + earlier.rows) if earlier else one
    return list(deleted.values())


def _series(database: Database) -> Iterator[tuple[int, BucketCalendar, Retention]]:
    with database.reading() as session:
        sources = session.scalars(select(Source)).all()
        retentions = {source.id: Retention(**source.configuration.get("retention", {})) for source in sources}
        rows = session.execute(select(Series.id, Series.source_id, Series.zone).order_by(Series.id)).all()
    for series_id, source_id, zone in rows:
        if source_id in retentions:
            yield series_id, calendar_of(zone), retentions[source_id]


def _delete_batch(
    database: Database, series_id: int, calendar: BucketCalendar, grain: Grain, limit: RetentionLimit, now: int
) -> ForgottenRows | None:
    rows = _Rows(series_id, grain)
    with database.reading() as session:
        if _cutoff(session, rows, calendar, limit, now) is None:
            return None
    with database.session() as session:
        lock_out_storing(session.connection())
        before = _cutoff(session, rows, calendar, limit, now)
        if before is None:
            return None
        number = session.execute(delete(rows.table).where(rows.condition, rows.at < before)).rowcount  # type: ignore[attr-defined]
        _record_deletion(session, ForgottenRows(series_id, grain, number, before), now)
        return ForgottenRows(series_id, grain, number, before)


class _Rows:
    """Rows of one grain of a series."""

    def __init__(self, series_id: int, grain: Grain) -> None:
        self.grain = grain
        self.series_id = series_id
        self.table: Table | Any = Event if grain is Grain.EVENT else Level
        self.at: Any = Event.at if grain is Grain.EVENT else Level.start
        self.condition: ColumnElement[bool] = (
            Event.series_id == series_id
            if grain is Grain.EVENT
            else (Level.series_id == series_id) & (Level.grain == grain)
        )

    def nth(self, session: Session, number: int, newest: bool = False) -> int | None:
        """Return the time of the row at an offset from the oldest, or from the newest."""
        order = self.at.desc() if newest else self.at
        found: int | None = session.scalar(
            select(self.at).where(self.condition).order_by(order).offset(number).limit(1)
        )
        return found


def _cutoff(session: Session, rows: _Rows, calendar: BucketCalendar, limit: RetentionLimit, now: int) -> int | None:
    """Return the cut-off of the next deletion; ``None`` if there is nothing to delete."""
    oldest, newest = rows.nth(session, 0), rows.nth(session, 0, newest=True)
    if oldest is None or newest is None:
        return None
    above = Grain(min(rows.grain + 1, Grain.YEAR))
    cutoff = now - limit.seconds * SECOND if limit.seconds is not None else oldest
    if limit.rows is not None and (least := rows.nth(session, limit.rows - 1, newest=True)) is not None:
        cutoff = max(cutoff, least)
    bounds = [cutoff, newest]
    if (stale := _first_stale(session, rows.series_id, above)) is not None:
        bounds.append(stale)
    if (many := rows.nth(session, ROWS_PER_TRANSACTION)) is not None:
        # All rows below one bucket of the level above are deleted together.
        bounds.append(max(many, calendar.end_of(calendar.start_of(oldest, above), above)))
    before = calendar.start_of(min(bounds), above)
    return before if before > oldest else None


def _first_stale(session: Session, series_id: int, above: Grain) -> int | None:
    """Return the start of the first bucket that must still be aggregated from these rows or finer ones."""
    return session.scalar(
        select(func.min(StaleLevel.start)).where(StaleLevel.series_id == series_id, StaleLevel.grain <= above)
    )


def _record_deletion(session: Session, deleted: ForgottenRows, now: int) -> None:
    record = session.get(Forgotten, (deleted.series_id, deleted.grain))
    if record is None:
        record = Forgotten(series_id=deleted.series_id, grain=deleted.grain, before=deleted.before, rows=0, refused=0)
        session.add(record)
    record.before = max(record.before, deleted.before)
    record.rows += deleted.rows
    record.at = moment_of(now)


class RowRange(NamedTuple):
    """Number of rows of a grain, and the times of the first and the last."""

    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RetentionSummary:
    """Stored and deleted rows of a series, by grain."""

    stored: dict[Grain, RowRange]
    forgotten: dict[Grain, Forgotten]

    @property
    def sentences(self) -> list[str]:
        """Description for people, one sentence a line."""
        lines = [
            f"{grain.counted(one.rows)}, from {_day(moment_of(one.first))} to {_day(moment_of(one.last))}."
            for grain, one in self.stored.items()
        ]
        for grain, record in self.forgotten.items():
            before = _day(moment_of(record.before))
            lines.append(f"Deleted: {grain.counted(record.rows)} before {before}, on {_day(record.at)}.")
            if record.refused:
                lines.append(f"Refused as too old: {Grain.EVENT.counted(record.refused)}.")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Description for `--json` and the API."""
        rows = {
            grain.plural: {"rows": one.rows, "first": _iso(one.first), "last": _iso(one.last)}
            for grain, one in self.stored.items()
        }
        forgotten = {
            grain.plural: {
                "rows": one.rows, "before": _iso(one.before), "at": one.at.isoformat(), "refused": one.refused
            }
            for grain, one in self.forgotten.items()
        }  # fmt: skip
        return {"rows": rows, "forgotten": forgotten}


def retention_summary(session: Session, series_id: int) -> RetentionSummary:
    """Count the rows of every grain, and load what was recorded about deleted ones."""
    stored = dict[Grain, RowRange]()
    counted = select(func.count(), func.min(Event.at), func.max(Event.at)).where(Event.series_id == series_id)
    number, first, last = session.execute(counted).one()
    if number:
        stored[Grain.EVENT] = RowRange(number, first, last)
    rows = session.execute(
        select(Level.grain, func.count(), func.min(Level.start), func.max(Level.start))
        .where(Level.series_id == series_id)
        .group_by(Level.grain)
        .order_by(Level.grain)
    )
    stored |= {Grain(grain): RowRange(number, first, last) for grain, number, first, last in rows}
    record = session.scalars(select(Forgotten).where(Forgotten.series_id == series_id).order_by(Forgotten.grain))
    return RetentionSummary(stored, {Grain(one.grain): one for one in record})


def sparkline(numbers: Sequence[float | None]) -> str:
    """Return a line of bar characters; a space for ``None``."""
    numbers = [None if number is None or not math.isfinite(number) else number for number in numbers]
    known = [number for number in numbers if number is not None]
    if not known:
        return ""
    least, most = min(known), max(known)
    height = (len(SPARKLINE_BARS) - 1) / (most - least) if least < most < least + MAX_SPARKLINE_SPREAD else 0.0
    return "".join(" " if number is None else SPARKLINE_BARS[round((number - least) * height)] for number in numbers)


def _day(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _iso(at: int) -> str:
    return moment_of(at).isoformat()
