"""Marks of what has to be summed up anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from tarantula.store import bulk
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import StaleLevel

# A mark that is there already is locked: whoever sums it up at the same moment must not take it from under an event
# that is not committed yet.
_MARK = """
    INSERT INTO stale_level (series_id, grain, start, over_at)
    SELECT column1, column2, column3, column4 FROM ({rows}) AS given
    WHERE true ON CONFLICT (series_id, grain, start) DO UPDATE SET over_at = excluded.over_at
"""
_UNMARK = """
    DELETE FROM stale_level WHERE (series_id, grain, start) IN (SELECT column1, column2, column3 FROM ({rows}) AS given)
"""
_TYPES = ("integer", "smallint", "bigint", "bigint")


class StaleMark(NamedTuple):
    """A bucket that something below changed in."""

    series_id: int
    grain: Grain
    start: int
    over_at: int


def mark_stale(connection: Connection, marks: Sequence[StaleMark]) -> None:
    """Note that buckets are stale; always in the same order, so that two who do never wait for each other."""
    bulk.execute_rows(connection, _MARK, sorted(set(marks)), _TYPES)


def clear_marks(connection: Connection, marks: Sequence[StaleMark]) -> None:
    """Note that buckets were summed up."""
    bulk.execute_rows(connection, _UNMARK, [one[:3] for one in marks], _TYPES[:3])


def take_stale(session: Session, now: int, most: int) -> list[StaleMark]:
    """Return some buckets that are stale and over, all of the finest grain that has any; nobody else gets them."""
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
