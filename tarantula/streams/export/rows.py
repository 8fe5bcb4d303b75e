"""Rows to export: events or one level of a source, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import NotFoundError
from tarantula.core.messages import did_you_mean
from tarantula.models import Series, Source
from tarantula.streams.history.buckets import EARLIEST_TIME, LATEST_TIME, calendar_of
from tarantula.streams.history.coverage import SeriesRows, WindowCover, forgotten_before, query_rows, query_scalar
from tarantula.streams.history.points import SHORTEST_BUCKETS
from tarantula.streams.history.summary import ValueSummary, merge_summaries
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources.retention import Grain

SessionOpener = Callable[[], AbstractContextManager[Session]]
"""Opens a session for one query: none is open while a reader takes what was read."""
ROWS_PER_QUERY = 2000
EVENT_COLUMNS = ("at", "field", "row", "value", "number", "read")
LEVEL_COLUMNS = (
    "start", "field", "row", "count", "sum", "average", "minimum", "maximum", "first", "last", "mode",
)  # fmt: skip
_EVENTS = "SELECT at, value, number, read FROM event WHERE series_id = ? AND at >= ? AND at < ? ORDER BY at LIMIT ?"
_NEXT = "SELECT min(start) FROM level WHERE series_id = ? AND grain = ? AND start >= ?"
_NEXT_STALE = "SELECT min(start) FROM stale_level WHERE series_id = ? AND start >= ?"


class ExportSeries(NamedTuple):
    id: int
    field: str
    row: str
    zone: str


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """Selection of rows to export: series, grain and period."""

    source: str
    series: list[ExportSeries]
    grain: Grain = Grain.EVENT
    begin: int = EARLIEST_TIME
    end: int = LATEST_TIME

    @property
    def columns(self) -> tuple[str, ...]:
        return EVENT_COLUMNS if self.grain is Grain.EVENT else LEVEL_COLUMNS


def select_export(
    session: Session,
    source: Source,
    *,
    field: str | None = None,
    row: str | None = None,
    grain: Grain = Grain.EVENT,
    begin: int | None = None,
    end: int | None = None,
) -> ExportQuery:
    """Select rows of a source: all fields and rows unless given, events unless *grain* is a level."""
    known = [
        ExportSeries(one.id, one.field, one.row, one.zone)
        for one in session.scalars(select(Series).where(Series.source_id == source.id).order_by(Series.id))
    ]
    for what, name, have in (
        ("field", field, {one.field for one in known}),
        ("row", row, {one.row for one in known}),
    ):
        if name is not None and name not in have:
            there = ", ".join(sorted(have)[:10]) or "none yet"
            raise NotFoundError(
                "{source} has no {what} {name!r}.{hint} There are: {there}.",
                source=source.name,
                what=what,
                name=name[:80],
                hint=did_you_mean(name, have),
                there=there,
            )
    wanted = [one for one in known if field in (None, one.field) and row in (None, one.row)]
    return ExportQuery(
        source.name, wanted, grain, EARLIEST_TIME if begin is None else begin, LATEST_TIME if end is None else end
    )


def export_rows(reading: SessionOpener, query: ExportQuery) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of each series, oldest first, with exact values; each page is read in a session of its own."""
    for series in query.series:
        if query.grain is Grain.EVENT:
            yield from _events(reading, series, query)
        else:
            yield from _levels(reading, series, query)


def _events(reading: SessionOpener, series: ExportSeries, query: ExportQuery) -> Iterator[tuple[Any, ...]]:
    begin = query.begin
    while rows := _page(reading, series.id, begin, query.end):
        for at, value, number, read in rows:
            yield at, series.field, series.row, value, number, read
        begin = rows[-1][0] + 1


def _page(reading: SessionOpener, series_id: int, begin: int, end: int) -> list[Any]:
    with reading() as session:
        return list(query_rows(session, _EVENTS, series_id, begin, end, ROWS_PER_QUERY))


def _levels(reading: SessionOpener, series: ExportSeries, query: ExportQuery) -> Iterator[tuple[Any, ...]]:
    """Yield whole buckets; stale ones are computed on the fly, and deleted ones are not replaced by coarser ones."""
    calendar, grain = calendar_of(series.zone), query.grain
    with reading() as session:
        stretch = SeriesRows(session, series.id).time_range(forgotten_before(session, series.id))
    if stretch is None:
        return
    begin = calendar.start_of(max(query.begin, stretch[0]), grain)
    last = min(query.end, stretch[1])
    while True:
        with reading() as session:
            found = _next(session, series.id, grain, begin)
            if found is None or found >= last:
                return
            begin = calendar.start_of(found, grain)
            end = calendar.start_of(begin + ROWS_PER_QUERY * SHORTEST_BUCKETS[grain], grain)
            end = min(end, calendar.end_of(calendar.start_of(last - 1, grain), grain))
            parts = list(WindowCover(session, series.id, calendar, counting=True).parts(grain, begin, end))
        fine = (part for part in parts if part.grain <= grain)
        for start, some in groupby(fine, lambda part: calendar.start_of(part.start, grain)):
            yield start, series.field, series.row, *_said(merge_summaries([part.summary for part in some]))
        begin = end


def _next(session: Session, series_id: int, grain: Grain, begin: int) -> int | None:
    """Return the start of the next bucket that is stored or stale."""
    found = (
        query_scalar(session, _NEXT, series_id, grain, begin),
        query_scalar(session, _NEXT_STALE, series_id, begin),
    )
    return min((start for start in found if start is not None), default=None)


def _said(summary: ValueSummary) -> tuple[Any, ...]:
    return (
        summary.count,
        summary.value(Aggregation.SUM),
        summary.value(Aggregation.AVERAGE),
        summary.minimum,
        summary.maximum,
        summary.first,
        summary.last,
        summary.mode,
    )
