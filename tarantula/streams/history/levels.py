"""Levels: rows per bucket, marks of stale buckets, and their aggregation from the level below."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.models import Series, StaleLevel
from tarantula.store import bulk
from tarantula.streams.history.buckets import BucketCalendar, calendar_of
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
    moment = time.time_ns() // 1000 if now is None else now
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
