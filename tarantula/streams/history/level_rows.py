"""Rows of levels, as they are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from tarantula.store import bulk
from tarantula.streams.history.counted import packed, unpacked
from tarantula.streams.history.marks import Mark
from tarantula.streams.history.numbers import plain
from tarantula.streams.history.summary import Summary, of_parts, of_values
from tarantula.streams.retention import Grain

_EVENTS = """
    SELECT wanted.column1, wanted.column2, event.value FROM ({rows}) AS wanted
    CROSS JOIN event WHERE event.series_id = wanted.column1
    AND event.at >= wanted.column2 AND event.at < wanted.column3
    ORDER BY wanted.column1, wanted.column2, event.at
"""
_LEVELS = """
    SELECT wanted.column1, wanted.column2, level.count, level.sum, level.minimum, level.maximum, level.first,
        level.last, level.counts FROM ({rows}) AS wanted
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


def below(connection: Connection, marks: Sequence[Mark]) -> Iterator[tuple[Mark, Summary]]:
    """Sum up what is below some buckets of one grain; a bucket with nothing below is left out."""
    known = {(one.series_id, one.start): one for one in marks}
    grain = Grain(marks[0].grain - 1)
    wanted = [(one.series_id, one.start, one.over_at, grain) for one in marks]
    statement, summed = (_EVENTS, _of_events) if grain is Grain.EVENT else (_LEVELS, _of_levels)
    for place, rows in groupby(bulk.answers(connection, statement, wanted, _WANTED), _PLACE):
        yield known[place], summed(rows)


def read_row(count: int, total: str | None, *others: Any) -> Summary:
    """Return what a row says, from its column ``count`` on."""
    minimum, maximum, first, last, counts = others
    return Summary(count, None if total is None else Decimal(total), minimum, maximum, first, last, unpacked(counts))


def replace(connection: Connection, levels: Sequence[tuple[Mark, Summary]]) -> None:
    """Write rows in the place of those that were there."""
    bulk.execute(connection, _REPLACE, [_written(one, summary) for one, summary in levels], _WRITTEN)


def remove(connection: Connection, marks: Sequence[Mark]) -> None:
    """Remove the rows of buckets that nothing is in any more."""
    bulk.execute(connection, _REMOVE, [one[:3] for one in marks], _WRITTEN[:3])


def _of_events(rows: Iterator[Any]) -> Summary:
    return of_values([row[2] for row in rows])


def _of_levels(rows: Iterator[Any]) -> Summary:
    return of_parts([read_row(*row[2:]) for row in rows])


def _written(one: Mark, summary: Summary) -> tuple[Any, ...]:
    return (
        one.series_id,
        one.grain,
        one.start,
        summary.count,
        None if summary.sum is None else plain(summary.sum),
        summary.minimum,
        summary.maximum,
        summary.first,
        summary.last,
        packed(summary.counts),
    )
