"""Levels are built from the one below: what is stale is summed up anew, whole."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.store import bulk
from tarantula.streams.history.buckets import BucketCalendar, calendar_of
from tarantula.streams.history.levels import remove_levels, replace_levels, summaries_below
from tarantula.streams.history.levels_part_marks import StaleMark, clear_marks, mark_stale, take_stale
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Series


def aggregate_levels(database: Database, most: int = 1000, now: int | None = None) -> int:
    """Sum up some of what is stale and over, in one transaction; return how many buckets, nothing if none is left.

    Whoever is killed here leaves the old rows with their marks. A bucket that is not over keeps its mark until it is:
    whoever asks for it gets it from below.
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
    found = dict(summaries_below(connection, marks))
    replace_levels(connection, [(one, found[one]) for one in marks if one in found])
    remove_levels(connection, [one for one in marks if one not in found])
    clear_marks(connection, marks)
    if above := list(_above(marks, calendars)):
        mark_stale(connection, above)


def calendars_of(session: Session, series_ids: set[int]) -> dict[int, BucketCalendar]:
    """Return in which zone the days of each series begin."""
    calendars = dict[int, BucketCalendar]()
    for some in bulk.chunks(sorted(series_ids)):
        rows = session.execute(select(Series.id, Series.zone).where(Series.id.in_(some)))
        calendars |= {identity: calendar_of(zone) for identity, zone in rows}
    return calendars


def _above(marks: Sequence[StaleMark], calendars: dict[int, BucketCalendar]) -> Iterator[StaleMark]:
    for one in marks:
        if one.grain is not Grain.YEAR and (calendar := calendars.get(one.series_id)):
            grain = Grain(one.grain + 1)
            start = calendar.start_of(one.start, grain)
            yield StaleMark(one.series_id, grain, start, calendar.end_of(start, grain))
