"""What is stale, summed up for whoever looks at it, and not stored: a bucket that is not over, or that waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from sqlalchemy.orm import Session

from tarantula.streams.history.buckets import BucketCalendar
from tarantula.streams.history.coverage_part_asking import query_rows
from tarantula.streams.history.levels import levels_below, summaries_below
from tarantula.streams.history.levels_part_marks import StaleMark
from tarantula.streams.history.summary import ValueSummary, merge_summaries
from tarantula.streams.sources.retention import Grain

_MARKS = "SELECT grain, start FROM stale_level WHERE series_id = ? AND start >= ? AND start < ?"

LevelSummaries = dict[int, ValueSummary | None]
"""Buckets by where they begin; ``None`` for one that nothing is in."""


class StaleSummaries:
    """The stale buckets of one series that are whole within a window, as they would be if they were summed up."""

    def __init__(self, session: Session, series_id: int, calendar: BucketCalendar) -> None:
        self._session = session
        self._series_id = series_id
        self._calendar = calendar
        self._levels = dict[Grain, LevelSummaries]()

    def of(self, grain: Grain, begin: int, end: int) -> Iterator[tuple[int, ValueSummary | None]]:
        """Yield the buckets of a grain that begin within a window."""
        for start, summary in self._levels.get(grain, {}).items():
            if begin <= start < end:
                yield start, summary

    def sum_up(self, grain: Grain, begin: int, end: int) -> None:
        """Sum up what is stale, from minutes up to a grain, and up to years where coarser ones may be needed."""
        marks = self._marks(begin, end)
        stale = set[int]()
        for level in list(Grain)[1:]:
            starts = {self._calendar.start_of(start, level) for start in stale | marks[level]}
            buckets = [self._bucket(level, start) for start in sorted(starts) if start >= begin]
            whole = [bucket for bucket in buckets if bucket.over_at <= end]
            stale = {bucket.start for bucket in whole}
            self._levels[level] = self._summed(level, whole) if whole else {}
            if level >= grain and not stale:
                break

    def _marks(self, begin: int, end: int) -> dict[Grain, set[int]]:
        rows = query_rows(self._session, _MARKS, self._series_id, begin, end)
        marks = defaultdict[Grain, set[int]](set)
        for grain, start in rows:
            marks[Grain(grain)].add(start)
        return marks

    def _bucket(self, grain: Grain, start: int) -> StaleMark:
        return StaleMark(self._series_id, grain, start, self._calendar.end_of(start, grain))

    def _summed(self, grain: Grain, buckets: list[StaleMark]) -> LevelSummaries:
        connection = self._session.connection()
        if grain is Grain.MINUTE:
            found = {bucket.start: summary for bucket, summary in summaries_below(connection, buckets)}
            return {bucket.start: found.get(bucket.start) for bucket in buckets}
        parts = {bucket.start: LevelSummaries() for bucket in buckets}
        for start, row_start, summary in levels_below(connection, buckets):
            parts[start][row_start] = summary
        for row_start, fresh in self._levels[Grain(grain - 1)].items():
            if (start := self._calendar.start_of(row_start, grain)) in parts:
                parts[start][row_start] = fresh
        return {start: _joined(sorted(rows.items())) for start, rows in parts.items()}


def _joined(rows: Iterable[tuple[int, ValueSummary | None]]) -> ValueSummary | None:
    summaries = [summary for _, summary in rows if summary is not None]
    return merge_summaries(summaries) if summaries else None
