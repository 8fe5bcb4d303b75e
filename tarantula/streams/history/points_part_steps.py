"""How wide the points of a drawing are: round stretches of time, the same wherever a window is dragged to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from tarantula.streams.history.buckets import DAY, HOUR, MINUTE, SECOND, BucketCalendar
from tarantula.streams.sources.retention import Grain

SHORTEST_BUCKETS = {
    Grain.EVENT: SECOND,
    Grain.MINUTE: MINUTE,
    Grain.HOUR: HOUR,
    Grain.DAY: DAY - HOUR,
    Grain.MONTH: 28 * DAY - HOUR,
    Grain.YEAR: 365 * DAY - HOUR,
}


class ChartStep(NamedTuple):
    """So many of a grain; of single events, so many seconds."""

    grain: Grain
    number: int

    def most_in(self, begin: int, end: int) -> int:
        """Return how many there are of these in a window, at most."""
        return (end - begin) // (SHORTEST_BUCKETS[self.grain] * self.number) + 2

    def begins(self, calendar: BucketCalendar, begin: int, end: int) -> list[int]:
        """Return where those begin that have some of a window."""
        if self.grain <= Grain.MINUTE:
            width = SHORTEST_BUCKETS[self.grain] * self.number
            return list(range(begin - begin % width, end, width))
        found = self._of_hours if self.grain is Grain.HOUR else self._of_days
        begins = list(found(calendar, begin, end))
        return begins[max(bisect_right(begins, begin) - 1, 0) :]

    def _of_hours(self, calendar: BucketCalendar, begin: int, end: int) -> Iterator[int]:
        """Steps of hours begin anew with every day."""
        for day in calendar.starts(begin, end, Grain.DAY):
            tomorrow = calendar.end_of(day, Grain.DAY)
            if tomorrow - day == DAY:
                yield from range(day, tomorrow, self.number * HOUR)
            else:
                yield from self._changing(calendar, calendar.starts(day, tomorrow, Grain.HOUR))

    def _of_days(self, calendar: BucketCalendar, begin: int, end: int) -> Iterator[int]:
        """Those of months begin anew with every year."""
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
        """Return a moment at which one of these may begin, not after the first bucket."""
        if self.grain in (Grain.DAY, Grain.YEAR):
            for _ in range(self.number - 1):
                first = calendar.start_of(first - 1, self.grain)
        return first

    def _which(self, local: datetime) -> tuple[int, ...]:
        match self.grain:
            case Grain.HOUR:
                return local.toordinal(), local.hour // self.number
            case Grain.DAY:
                # The first day of the calendar is a Monday: so are those of weeks.
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
