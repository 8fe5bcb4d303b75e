"""Rows of levels, as they are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from tarantula.store import bulk
from tarantula.streams.history.levels_part_marks import StaleMark
from tarantula.streams.history.summary import ValueSummary, merge_summaries, summarize_values
from tarantula.streams.history.summary_part_counted import pack_counts, unpack_counts
from tarantula.streams.history.summary_part_numbers import format_number
from tarantula.streams.sources.retention import Grain

_EVENTS = """
    SELECT wanted.column1, wanted.column2, event.value FROM ({rows}) AS wanted
    CROSS JOIN event WHERE event.series_id = wanted.column1
    AND event.at >= wanted.column2 AND event.at < wanted.column3
    ORDER BY wanted.column1, wanted.column2, event.at
"""
_LEVELS = """
    SELECT wanted.column1, wanted.column2, level.start, level.count, level.sum, level.minimum, level.maximum,
        level.first, level.last, level.counts FROM ({rows}) AS wanted
    CROSS JOIN level WHERE level.series_id = wanted.column1 AND level.grain = wanted.column4
    AND level.start >= wanted.column2 AND level.start < wanted.column3
    ORDER BY wanted.column1, wanted.column2, level.start
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
_WANTED = ("integer", "bigint", "bigint", "smallint")
_WRITTEN = ("integer", "smallint", "bigint", "integer", "text", "text", "text", "text", "text", "bytea")
_PLACE = itemgetter(0, 1)


def summaries_below(connection: Connection, marks: Sequence[StaleMark]) -> Iterator[tuple[StaleMark, ValueSummary]]:
    """Sum up what is below some buckets of one grain; a bucket with nothing below is left out."""
    known = {(one.series_id, one.start): one for one in marks}
    is_lowest = marks[0].grain == Grain.MINUTE
    rows = bulk.query_rows(connection, _EVENTS if is_lowest else _LEVELS, _wanted(marks), _WANTED)
    for place, some in groupby(rows, _PLACE):
        if is_lowest:
            yield known[place], summarize_values([row[2] for row in some])
        else:
            yield known[place], merge_summaries([summary_from_row(*row[3:]) for row in some])


def levels_below(connection: Connection, marks: Sequence[StaleMark]) -> Iterator[tuple[int, int, ValueSummary]]:
    """Yield the rows below some buckets of one series and grain: in which bucket, where they begin, what they say."""
    for row in bulk.query_rows(connection, _LEVELS, _wanted(marks), _WANTED):
        yield row[1], row[2], summary_from_row(*row[3:])


def _wanted(marks: Sequence[StaleMark]) -> list[tuple[int, int, int, int]]:
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
    """Return what a row says, from its column ``count`` on."""
    exact = None if total is None else Decimal(total)
    return ValueSummary(count, exact, minimum, maximum, first, last, unpack_counts(counts))


def replace_levels(connection: Connection, levels: Sequence[tuple[StaleMark, ValueSummary]]) -> None:
    """Write rows in the place of those that were there."""
    bulk.execute_rows(connection, _REPLACE, [_written(one, summary) for one, summary in levels], _WRITTEN)


def remove_levels(connection: Connection, marks: Sequence[StaleMark]) -> None:
    """Remove the rows of buckets that nothing is in any more."""
    bulk.execute_rows(connection, _REMOVE, [one[:3] for one in marks], _WRITTEN[:3])


def _written(one: StaleMark, summary: ValueSummary) -> tuple[Any, ...]:
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
