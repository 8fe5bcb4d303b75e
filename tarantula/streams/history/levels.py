"""Levels of the history: events aggregated by minute, hour, day, month and year, in the source's time zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from time import time_ns
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.models import Series, StaleLevel
from tarantula.store import bulk
from tarantula.streams.history.summary import (
    ValueSummary,
    format_number,
    merge_summaries,
    pack_counts,
    summarize_values,
    unpack_counts,
)
from tarantula.streams.sources.retention import Grain

# An existing mark is locked by the update, so that a concurrent aggregation cannot clear
# it before the new event is committed.
_MARK = """
    INSERT INTO stale_level (series_id, grain, start, over_at)
    SELECT column1, column2, column3, column4 FROM ({rows}) AS given
    WHERE true ON CONFLICT (series_id, grain, start) DO UPDATE SET over_at = excluded.over_at
"""
_UNMARK = """
    DELETE FROM stale_level WHERE (series_id, grain, start) IN (SELECT column1, column2, column3 FROM ({rows}) AS given)
"""
_MARK_TYPES = ("integer", "smallint", "bigint", "bigint")
_EVENTS = """
    SELECT bucket.column1, bucket.column2, event.value FROM ({rows}) AS bucket
    CROSS JOIN event WHERE event.series_id = bucket.column1
    AND event.at >= bucket.column2 AND event.at < bucket.column3
    ORDER BY bucket.column1, bucket.column2, event.at
"""
_LEVELS = """
    SELECT bucket.column1, bucket.column2, level.start, level.count, level.sum, level.minimum, level.maximum,
        level.first, level.last, level.counts FROM ({rows}) AS bucket
    CROSS JOIN level WHERE level.series_id = bucket.column1 AND level.grain = bucket.column4
    AND level.start >= bucket.column2 AND level.start < bucket.column3
    ORDER BY bucket.column1, bucket.column2, level.start
"""
_REPLACE = """
    INSERT INTO level (series_id, grain, start, count, sum, minimum, maximum, first, last, counts)
    SELECT column1, column2, column3, column4, column5, column6, column7, column8, column9, column10
    FROM ({rows}) AS given WHERE true
    ON CONFLICT (series_id, grain, start) DO UPDATE SET count = excluded.count, sum = excluded.sum,
        minimum = excluded.minimum, maximum = excluded.maximum, first = excluded.first, last = excluded.last,
        counts = excluded.counts
"""
_REMOVE = """
    DELETE FROM level WHERE (series_id, grain, start) IN (SELECT column1, column2, column3 FROM ({rows}) AS given)
"""
_BUCKET_TYPES = ("integer", "bigint", "bigint", "smallint")
_LEVEL_TYPES = ("integer", "smallint", "bigint", "integer", "text", "text", "text", "text", "text", "bytea")
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
"""Microseconds."""


_BUCKET_KEY = itemgetter(0, 1)


class StaleMark(NamedTuple):
    """A bucket whose rows below changed."""

    series_id: int
    grain: Grain
    start: int
    over_at: int


def mark_stale(connection: Connection, marks: Sequence[StaleMark]) -> None:
    """Mark buckets as stale, in sorted order to avoid deadlocks."""
    bulk.execute_rows(connection, _MARK, sorted(set(marks)), _MARK_TYPES)


def clear_marks(connection: Connection, marks: Sequence[StaleMark]) -> None:
    bulk.execute_rows(connection, _UNMARK, [one[:3] for one in marks], _MARK_TYPES[:3])


def take_stale(session: Session, now: int, most: int) -> list[StaleMark]:
    """Lock and return up to *most* stale buckets that have ended, of the finest grain that has any."""
    for grain in list(Grain)[1:]:
        rows = session.execute(
            select(StaleLevel.series_id, StaleLevel.start, StaleLevel.over_at)
            .where(StaleLevel.grain == grain, StaleLevel.over_at <= now)
            .order_by(StaleLevel.over_at)
            .limit(most)
            .with_for_update(skip_locked=True)
        ).all()
        if rows:
            return sorted(StaleMark(series_id, grain, start, over_at) for series_id, start, over_at in rows)
    return []


def summaries_below(connection: Connection, marks: Sequence[StaleMark]) -> Iterator[tuple[StaleMark, ValueSummary]]:
    """Yield the summary of the rows below each bucket, all of one grain; empty buckets are left out."""
    known = {(one.series_id, one.start): one for one in marks}
    is_lowest = marks[0].grain == Grain.MINUTE
    rows = bulk.query_rows(connection, _EVENTS if is_lowest else _LEVELS, _bucket_rows(marks), _BUCKET_TYPES)
    for key, group in groupby(rows, _BUCKET_KEY):
        if is_lowest:
            yield known[key], summarize_values([row[2] for row in group])
        else:
            yield known[key], merge_summaries([summary_from_row(*row[3:]) for row in group])


def levels_below(connection: Connection, marks: Sequence[StaleMark]) -> Iterator[tuple[int, int, ValueSummary]]:
    """Yield the rows below buckets of one series and grain: start of the bucket, start of the row, summary."""
    for row in bulk.query_rows(connection, _LEVELS, _bucket_rows(marks), _BUCKET_TYPES):
        yield row[1], row[2], summary_from_row(*row[3:])


def _bucket_rows(marks: Sequence[StaleMark]) -> list[tuple[int, int, int, int]]:
    return [(one.series_id, one.start, one.over_at, one.grain - 1) for one in marks]


def summary_from_row(
    count: int,
    total: str | None,
    minimum: str | None,
    maximum: str | None,
    first: str,
    last: str,
    counts: bytes | None = None,
) -> ValueSummary:
    """Return the summary of a level row, given its columns from ``count`` on."""
    exact = None if total is None else Decimal(total)
    return ValueSummary(count, exact, minimum, maximum, first, last, unpack_counts(counts))


def replace_levels(connection: Connection, levels: Sequence[tuple[StaleMark, ValueSummary]]) -> None:
    """Insert or update level rows."""
    bulk.execute_rows(connection, _REPLACE, [_level_row(one, summary) for one, summary in levels], _LEVEL_TYPES)


def remove_levels(connection: Connection, marks: Sequence[StaleMark]) -> None:
    """Delete the level rows of empty buckets."""
    bulk.execute_rows(connection, _REMOVE, [one[:3] for one in marks], _LEVEL_TYPES[:3])


def _level_row(one: StaleMark, summary: ValueSummary) -> tuple[Any, ...]:
    return (
        one.series_id,
        one.grain,
        one.start,
        summary.count,
        None if summary.sum is None else format_number(summary.sum),
        summary.minimum,
        summary.maximum,
        summary.first,
        summary.last,
        pack_counts(summary.counts),
    )


def aggregate_levels(database: Database, most: int = 1000, now: int | None = None) -> int:
    """Aggregate up to *most* stale buckets that have ended, in one transaction; return their number.

    After a crash the old rows and their marks are unchanged. A bucket that has not ended keeps its mark; queries
    compute it from the rows below.
    """
    moment = time_ns() // 1000 if now is None else now
    with database.session() as session:
        marks = take_stale(session, moment, most)
        if marks:
            _aggregate(session, marks)
    return len(marks)


def _aggregate(session: Session, marks: Sequence[StaleMark]) -> None:
    connection = session.connection()
    calendars = calendars_of(session, {one.series_id for one in marks})
    summaries = dict(summaries_below(connection, marks))
    replace_levels(connection, [(one, summaries[one]) for one in marks if one in summaries])
    remove_levels(connection, [one for one in marks if one not in summaries])
    clear_marks(connection, marks)
    if above := list(_above(marks, calendars)):
        mark_stale(connection, above)


def calendars_of(session: Session, series_ids: set[int]) -> dict[int, BucketCalendar]:
    """Return the calendar of each series."""
    calendars = dict[int, BucketCalendar]()
    for batch in bulk.chunks(sorted(series_ids)):
        rows = session.execute(select(Series.id, Series.zone).where(Series.id.in_(batch)))
        calendars |= {identity: calendar_of(zone) for identity, zone in rows}
    return calendars


def _above(marks: Sequence[StaleMark], calendars: dict[int, BucketCalendar]) -> Iterator[StaleMark]:
    for one in marks:
        if one.grain is not Grain.YEAR and (calendar := calendars.get(one.series_id)):
            grain = Grain(one.grain + 1)
            start = calendar.start_of(one.start, grain)
            yield StaleMark(one.series_id, grain, start, calendar.end_of(start, grain))


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST_TIME = -62_000_000_000 * SECOND
"""In the year 5: close to the earliest date that Python supports."""
LATEST_TIME = 250_000_000_000 * SECOND
"""In the year 9892."""


class BucketCalendar:
    """Bucket boundaries in one time zone, in microseconds since 1970."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self._hour = lru_cache(4096)(self._find_hour)
        self._begin = lru_cache(4096)(self._find_begin)

    def start_of(self, at: int, grain: Grain) -> int:
        """Return the start of the bucket that contains a moment."""
        if grain is Grain.EVENT:
            return at
        at -= at % MINUTE
        if grain is Grain.MINUTE:
            return at
        if grain is Grain.HOUR:
            return self._hour(at)
        day = self._first_of(self.local(at).date(), grain)
        later = self._begin(_next(day, grain))
        return later if later <= at else self._begin(day)

    def end_of(self, start: int, grain: Grain) -> int:
        """Return the end of the bucket that starts at *start*."""
        if grain is Grain.EVENT:
            return start + 1
        if grain is Grain.MINUTE:
            return start + MINUTE
        if grain is Grain.HOUR:
            end = start + HOUR - self.local(start).minute * MINUTE
            last = self._hour(end - MINUTE)
            return end if last == start else last
        return self._begin(_next(self._first_of(self.local(start).date(), grain), grain))

    def starts(self, begin: int, end: int, grain: Grain) -> Iterator[int]:
        """Yield the starts of the buckets that overlap a window."""
        start = self.start_of(begin, grain)
        while start < end:
            yield start
            start = self.end_of(start, grain)

    def local(self, at: int) -> datetime:
        """Return the local time, to the minute."""
        return (moment_of(at) + self._offset(at)).replace(tzinfo=None)

    def _offset(self, at: int) -> timedelta:
        return _whole_minutes(moment_of(at).astimezone(self.zone).utcoffset())

    def _find_hour(self, at: int) -> int:
        start = at - self.local(at).minute * MINUTE
        offset = self._offset(at)
        if self._offset(start) == offset:
            return start
        # A clock change within this hour starts a new bucket.
        while self._offset(at - MINUTE) == offset:
            at -= MINUTE
        return at

    def _find_begin(self, day: date) -> int:
        midnight = datetime.combine(day, time(), self.zone)
        offset = midnight.utcoffset()
        return _microseconds(midnight.astimezone(UTC) + ((offset or timedelta()) - _whole_minutes(offset)))

    def _first_of(self, day: date, grain: Grain) -> date:
        if grain is Grain.DAY:
            return day
        return day.replace(day=1) if grain is Grain.MONTH else day.replace(month=1, day=1)


@cache
def calendar_of(zone: str) -> BucketCalendar:
    return BucketCalendar(ZoneInfo(zone))


def moment_of(at: int) -> datetime:
    """Return a time in microseconds since 1970 as a datetime in UTC."""
    return EPOCH + timedelta(microseconds=at)


def _microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _whole_minutes(offset: timedelta | None) -> timedelta:
    """Return an offset from UTC without its seconds, which offsets had until the 20th century."""
    return timedelta(minutes=(offset or timedelta()) // timedelta(minutes=1))


def _next(day: date, grain: Grain) -> date:
    if grain is Grain.DAY:
        return day + timedelta(days=1)
    if grain is Grain.MONTH:
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return date(day.year + 1, 1, 1)
