"""A stretch of time, covered by what is kept of it: whole buckets where that is right, finer ones where it is not.

A bucket is not taken whole where the window begins or ends within it, nor while something below it is stale: so what is
drawn is never behind, whether it was summed up or not.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from sqlalchemy.orm import Session

from tarantula.streams.history.buckets import EARLIEST_TIME, BucketCalendar
from tarantula.streams.history.coverage_part_asking import query_rows
from tarantula.streams.history.coverage_part_fresh import StaleSummaries
from tarantula.streams.history.levels import summary_from_row
from tarantula.streams.history.summary import ValueSummary, summarize_value
from tarantula.streams.sources.retention import Grain

MAX_COUNTED_ROWS = 5000
"""Rows that are looked into to tell how often there was which value."""


_ROWS = """
    SELECT start, count, sum, minimum, maximum, first, last FROM level
    WHERE series_id = ? AND grain = ? AND start >= ? AND start < ? ORDER BY start
"""
_COUNTED = _ROWS.replace("last FROM", "last, counts FROM")
_EVENTS = "SELECT at, value FROM event WHERE series_id = ? AND at >= ? AND at < ? ORDER BY at"
_START = itemgetter(0)


class CoverPart(NamedTuple):
    """One row: an event, or a bucket."""

    start: int
    grain: Grain
    summary: ValueSummary


class WindowCover:
    """What is kept of one series within a window."""

    def __init__(self, session: Session, series_id: int, calendar: BucketCalendar, counting: bool = False) -> None:
        self._fresh = StaleSummaries(session, series_id, calendar)
        self._session = session
        self._series_id = series_id
        self._calendar = calendar
        self._counting = counting
        self._counted = 0
        self.forgotten = forgotten_before(session, series_id)
        self.whole = list[CoverPart]()
        """Buckets that were taken whole although the window has only some of them: the rest is forgotten."""

    def parts(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        """Return the rows of a grain in a window; coarser ones where those of the grain are forgotten."""
        self._fresh.sum_up(grain, begin, end)
        return self._coarser(grain, begin, end)

    def _coarser(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        kept = min(max(begin, self._kept_from(grain)), end)
        older = self._coarser(Grain(grain + 1), begin, kept) if begin < kept and grain < Grain.YEAR else []
        return older + self._finer(grain, kept, end) if kept < end else older

    def is_kept(self, grain: Grain, begin: int) -> bool:
        """Whether nothing of a grain is forgotten from a moment on."""
        return self._kept_from(grain) <= begin

    def _kept_from(self, grain: Grain) -> int:
        return self.forgotten.get(grain, EARLIEST_TIME)

    def _finer(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        """Return the rows of a grain, and finer ones where those are not right."""
        if grain is Grain.EVENT:
            return self._events(begin, end)
        edges = self._edges(grain, begin, end)
        rows = {part.start: part for part in self._rows(grain, self._calendar.start_of(begin, grain), end)}
        finer = list[CoverPart]()
        for start in edges:
            finer += self._within(grain, start, begin, end, rows.pop(start, None))
        if self._counting:
            for start in [start for start, part in rows.items() if part.summary.counts is None]:
                finer += self._counted_below(rows.pop(start))
        return sorted([*rows.values(), *finer], key=_START)

    def _edges(self, grain: Grain, begin: int, end: int) -> set[int]:
        """Return the buckets of which the window has only some."""
        starts = ((moment, self._calendar.start_of(moment, grain)) for moment in (begin, end))
        return {start for moment, start in starts if start != moment}

    def _within(self, grain: Grain, start: int, begin: int, end: int, whole: CoverPart | None) -> list[CoverPart]:
        """Return what of one bucket is within the window, or the whole bucket if nothing finer is kept."""
        first, last = max(start, begin), min(self._calendar.end_of(start, grain), end)
        for finer in reversed(list(Grain)[:grain]):
            if self.is_kept(finer, first):
                return self._finer(finer, first, last)
        if whole is None:
            return []
        self.whole.append(whole)
        return [whole]

    def _counted_below(self, part: CoverPart) -> list[CoverPart]:
        """Return what a bucket with too many different values is made of, if that is kept and not too much."""
        finer, end = Grain(part.grain - 1), self._calendar.end_of(part.start, part.grain)
        if self._counted > MAX_COUNTED_ROWS or not self.is_kept(finer, part.start):
            return [part]
        return self._finer(finer, part.start, end)

    def _rows(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        rows = query_rows(self._session, _COUNTED if self._counting else _ROWS, self._series_id, grain, begin, end)
        found = {start: summary_from_row(*others) for start, *others in rows}
        self._counted += len(found)
        for start, summary in self._fresh.of(grain, begin, end):
            if summary is None:
                found.pop(start, None)
            else:
                found[start] = summary
        return [CoverPart(start, grain, summary) for start, summary in found.items()]

    def _events(self, begin: int, end: int) -> list[CoverPart]:
        rows = query_rows(self._session, _EVENTS, self._series_id, begin, end)
        return [CoverPart(at, Grain.EVENT, summarize_value(value, self._counting)) for at, value in rows]


def forgotten_before(session: Session, series_id: int) -> dict[Grain, int]:
    """Return before which moment nothing of a grain is kept."""
    rows = query_rows(session, "SELECT grain, before FROM forgotten WHERE series_id = ?", series_id)
    return {Grain(grain): before for grain, before in rows}
