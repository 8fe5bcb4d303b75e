"""Chart points of a series in a window, from the level that fits the number of points."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.models import Series
from tarantula.streams.history.coverage import CoverPart, SeriesRows, WindowCover, forgotten_before
from tarantula.streams.history.levels import (
    DAY,
    EARLIEST_TIME,
    HOUR,
    LATEST_TIME,
    MINUTE,
    SECOND,
    BucketCalendar,
    calendar_of,
)
from tarantula.streams.history.summary import ValueSummary, merge_summaries
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources.retention import Grain

SHORTEST_BUCKETS = {
    Grain.EVENT: SECOND,
    Grain.MINUTE: MINUTE,
    Grain.HOUR: HOUR,
    Grain.DAY: DAY - HOUR,
    Grain.MONTH: 28 * DAY - HOUR,
    Grain.YEAR: 365 * DAY - HOUR,
}
MAX_ROWS_READ = 1500
"""Maximum number of rows that are read for one chart."""


class ChartStep(NamedTuple):
    """Width of a chart point: a number of buckets of a grain; for events, of seconds."""

    grain: Grain
    number: int

    def most_in(self, begin: int, end: int) -> int:
        """Return the maximum number of steps in a window."""
        return (end - begin) // (SHORTEST_BUCKETS[self.grain] * self.number) + 2

    def begins(self, calendar: BucketCalendar, begin: int, end: int) -> list[int]:
        """Return the starts of the steps that overlap a window."""
        if self.grain <= Grain.MINUTE:
            width = SHORTEST_BUCKETS[self.grain] * self.number
            return list(range(begin - begin % width, end, width))
        steps = self._of_hours if self.grain is Grain.HOUR else self._of_days
        begins = list(steps(calendar, begin, end))
        return begins[max(bisect_right(begins, begin) - 1, 0) :]

    def _of_hours(self, calendar: BucketCalendar, begin: int, end: int) -> Iterator[int]:
        """Steps of hours start over every day."""
        for day in calendar.starts(begin, end, Grain.DAY):
            tomorrow = calendar.end_of(day, Grain.DAY)
            if tomorrow - day == DAY:
                yield from range(day, tomorrow, self.number * HOUR)
            else:
                yield from self._changing(calendar, calendar.starts(day, tomorrow, Grain.HOUR))

    def _of_days(self, calendar: BucketCalendar, begin: int, end: int) -> Iterator[int]:
        """Steps of months start over every year."""
        first = calendar.start_of(begin, Grain.YEAR if self.grain is Grain.MONTH else self.grain)
        return self._changing(calendar, calendar.starts(self._back(calendar, first), end, self.grain))

    def _changing(self, calendar: BucketCalendar, starts: Iterable[int]) -> Iterator[int]:
        inside = None
        for start in starts:
            number = self._which(calendar.local(start))
            if number != inside:
                yield start
            inside = number

    def _back(self, calendar: BucketCalendar, first: int) -> int:
        """Return the start of the earliest bucket that can be in one step with the bucket at *first*."""
        if self.grain in (Grain.DAY, Grain.YEAR):
            for _ in range(self.number - 1):
                first = calendar.start_of(first - 1, self.grain)
        return first

    def _which(self, local: datetime) -> tuple[int, ...]:
        match self.grain:
            case Grain.HOUR:
                return local.toordinal(), local.hour // self.number
            case Grain.DAY:
                # Day 1 of the calendar is a Monday, so weeks start on Mondays.
                return ((local.toordinal() - 1) // self.number,)
            case Grain.MONTH:
                return local.year, (local.month - 1) // self.number
            case _:
                return (local.year // self.number,)


CHART_STEPS = (
    *(ChartStep(Grain.EVENT, seconds) for seconds in (1, 2, 5, 10, 15, 30)),
    *(ChartStep(Grain.MINUTE, minutes) for minutes in (1, 2, 5, 10, 15, 30)),
    *(ChartStep(Grain.HOUR, hours) for hours in (1, 2, 3, 6, 12)),
    *(ChartStep(Grain.DAY, days) for days in (1, 2, 7)),
    *(ChartStep(Grain.MONTH, months) for months in (1, 3, 6)),
    *(ChartStep(Grain.YEAR, years) for years in (1, 2, 5, 10, 20, 50, 100, 1000, 10_000)),
)


@dataclass(slots=True)
class HistoryPoint:
    """One point of a chart."""

    at: int
    """Start of the interval, or time of the event, in microseconds since 1970."""
    summary: ValueSummary

    def number(self, aggregation: Aggregation) -> float | None:
        """Return the value as a float; ``None`` if it is not a finite number."""
        value = self.summary.value(aggregation)
        try:
            number = math.nan if value is None else float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class HistoryPoints:
    """Chart of one series."""

    series_id: int
    begin: int
    end: int
    points: list[HistoryPoint]
    grain: Grain
    """Level from which the points were made."""
    step: int
    """Buckets per point; 0 if each event is a point."""
    before: str | None
    """Last value before the window: it is valid until the first point."""
    sentence: str
    """Inexact parts, with the reason; empty if everything is exact."""

    @property
    def is_exact(self) -> bool:
        """Whether the points include nothing outside the window."""
        return not self.sentence


def chart_points(
    session: Session, series_id: int, begin: int, end: int, most: int = 500, *, counting: bool = False
) -> HistoryPoints:
    """Return at most *most* points of a series in a window; with *counting*, summaries include modes."""
    return chart_points_of(session, [series_id], begin, end, most, counting=counting)[series_id]


def chart_points_of(
    session: Session, series_ids: Iterable[int], begin: int, end: int, most: int = 500, *, counting: bool = False
) -> dict[int, HistoryPoints]:
    """Return the same window of several series, by series id."""
    begin, end = _checked(begin, end, most)
    asked = list(dict.fromkeys(series_ids))
    zones = session.execute(select(Series.id, Series.zone).where(Series.id.in_(asked)))
    calendars = {series_id: calendar_of(zone) for series_id, zone in zones}
    if missing := [str(one) for one in asked if one not in calendars]:
        raise NotFoundError("There is no series {missing}.", missing=", ".join(missing))
    return {one: _Chart(session, one, calendars[one], begin, end, most, counting).draw() for one in asked}


def window_summary(
    session: Session, series_id: int, begin: int, end: int, *, counting: bool = False
) -> ValueSummary | None:
    """Return the summary of a whole window; ``None`` if it is empty."""
    drawn = chart_points(session, series_id, begin, end, 1, counting=counting)
    return drawn.points[0].summary if drawn.points else None


def _checked(begin: int, end: int, most: int) -> tuple[int, int]:
    if most < 1:
        raise TarantulaError("A chart needs at least one point.")
    if begin >= end:
        raise TarantulaError("The window ends before it begins.")
    return max(begin, EARLIEST_TIME), min(end, LATEST_TIME)


class _Chart:
    """Chart of one series in one window."""

    def __init__(
        self,
        session: Session,
        series_id: int,
        calendar: BucketCalendar,
        begin: int,
        end: int,
        most: int,
        counting: bool,
    ) -> None:
        self._session = session
        self._calendar = calendar
        self._rows = SeriesRows(session, series_id)
        self._series_id = series_id
        self._begin, self._end = begin, end
        self._most = most
        self._counting = counting

    def draw(self) -> HistoryPoints:
        """Return the points; start over if retention deleted rows in the meantime."""
        while True:
            cover = WindowCover(self._session, self._series_id, self._calendar, self._counting)
            points = self._points(cover)
            if cover.deleted_before == forgotten_before(self._session, self._series_id):
                return points

    def _points(self, cover: WindowCover) -> HistoryPoints:
        span = self._rows.time_range(cover.deleted_before)
        if span is None or not self._begin < span[1] or not span[0] < self._end:
            return self._made([], Grain.EVENT, 0, cover)
        first, last = max(self._begin, span[0]), min(self._end, span[1])
        if self._most == 1:
            parts = self._parts(cover, Grain.YEAR, first, last)
            return self._made([parts] if parts else [], Grain.YEAR, 1, cover)
        if cover.is_stored(Grain.EVENT, first) and self._rows.rows(Grain.EVENT, first, last, self._most) <= self._most:
            return self._made([[part] for part in cover.parts(Grain.EVENT, first, last)], Grain.EVENT, 0, cover)
        for step in CHART_STEPS:
            if step.most_in(first, last) <= self._most and self._is_quick(step, first, last):
                groups = self._grouped(self._parts(cover, step.grain, first, last), step, first, last)
                if len(groups) <= self._most:
                    return self._made(groups, step.grain, step.number, cover)
        raise AssertionError("The last step is longer than the calendar.")

    def _is_quick(self, step: ChartStep, first: int, last: int) -> bool:
        if ChartStep(step.grain, 1).most_in(first, last) <= MAX_ROWS_READ and step.grain is not Grain.EVENT:
            return True
        return self._rows.rows(step.grain, first, last, MAX_ROWS_READ) <= MAX_ROWS_READ

    def _parts(self, cover: WindowCover, grain: Grain, first: int, last: int) -> list[CoverPart]:
        # Extend to whole years: buckets that begin before the first or end after the last row are complete.
        begin = max(self._begin, self._calendar.start_of(first, Grain.YEAR))
        year = self._calendar.start_of(last - 1, Grain.YEAR)
        return cover.parts(grain, begin, min(self._end, self._calendar.end_of(year, Grain.YEAR)))

    def _grouped(self, parts: Sequence[CoverPart], step: ChartStep, first: int, last: int) -> list[list[CoverPart]]:
        if step.number == 1 and step.grain is not Grain.EVENT:
            return [list(group) for _, group in groupby(parts, lambda part: self._bucket(part, step.grain))]
        begins = step.begins(self._calendar, first, last)
        return [list(group) for _, group in groupby(parts, lambda part: bisect_right(begins, part.start))]

    def _bucket(self, part: CoverPart, grain: Grain) -> int:
        return part.start if part.grain >= grain else self._calendar.start_of(part.start, grain)

    def _made(
        self, groups: Sequence[Sequence[CoverPart]], grain: Grain, step: int, cover: WindowCover
    ) -> HistoryPoints:
        points = [self._point(group, grain, step) for group in groups]
        before = self._rows.value_before(self._begin, self._calendar)
        sentence = _sentence(cover, self._begin)
        return HistoryPoints(self._series_id, self._begin, self._end, points, grain, step, before, sentence)

    def _point(self, group: Sequence[CoverPart], grain: Grain, step: int) -> HistoryPoint:
        start = group[0].start
        at = start if step == 0 else max(self._begin, min(start, self._calendar.start_of(start, grain)))
        return HistoryPoint(at, merge_summaries([part.summary for part in group], self._counting))


def _sentence(cover: WindowCover, begin: int) -> str:
    """Return what is not exact."""
    if not cover.is_stored(Grain.YEAR, begin):
        return "Older values have been deleted."
    if not cover.whole_edges:
        return ""
    grain = max(part.grain for part in cover.whole_edges)
    return (
        f"Levels finer than {grain.plural} have been deleted there: "
        f"where the window begins or ends within one, the whole {grain.name.lower()} is included."
    )
