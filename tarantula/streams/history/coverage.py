"""Stored rows that cover a window: whole buckets where they are exact, finer rows where they are not.

A bucket is not used whole where the window begins or ends within it, nor while something below it is stale: stale
buckets are summarised on the fly, so a chart is never behind the events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from tarantula.streams.history.levels import (
    EARLIEST_TIME,
    BucketCalendar,
    StaleMark,
    levels_below,
    summaries_below,
    summary_from_row,
)
from tarantula.streams.history.summary import ValueSummary, merge_summaries, summarize_value
from tarantula.streams.sources.retention import Grain

_MARKS = "SELECT grain, start FROM stale_level WHERE series_id = ? AND start >= ? AND start < ?"
LevelSummaries = dict[int, ValueSummary | None]
"""Summaries by bucket start; ``None`` for an empty bucket."""
MAX_COUNTED_ROWS = 5000
"""Maximum number of rows that are read to count distinct values."""
_ROWS = """
    SELECT start, count, sum, minimum, maximum, first, last FROM level
    WHERE series_id = ? AND grain = ? AND start >= ? AND start < ? ORDER BY start
"""
_COUNTED = _ROWS.replace("last FROM", "last, counts FROM")
_EVENTS = "SELECT at, value FROM event WHERE series_id = ? AND at >= ? AND at < ? ORDER BY at"
_START = itemgetter(0)


def query_rows(session: Session, statement: str, *values: int) -> Sequence[Any]:
    """Return the rows of a statement with ``?`` placeholders.

    A chart makes a dozen queries, and building SQLAlchemy expressions would take longer than running them.
    """
    connection = session.connection()
    result = connection.exec_driver_sql(_with_placeholders(statement, connection.dialect.name), values)
    # Tuples of the driver: result objects for thousands of rows would be too slow.
    rows: Sequence[Any] = result.cursor.fetchall() if result.cursor is not None else []
    result.close()
    return rows


def query_scalar(session: Session, statement: str, *values: int) -> Any:
    """Return the first column of the first row; ``None`` without rows."""
    rows = query_rows(session, statement, *values)
    return rows[0][0] if rows else None


def grain_table(grain: Grain) -> tuple[str, str]:
    """Return table and condition for the rows of a grain (with a placeholder for the series), and the time column."""
    if grain is Grain.EVENT:
        return "event WHERE series_id = ?", "at"
    return f"level WHERE series_id = ? AND grain = {int(grain)}", "start"


@cache
def _with_placeholders(statement: str, dialect: str) -> str:
    return statement if dialect == "sqlite" else statement.replace("?", "%s")


class StaleSummaries:
    """Summaries of the stale buckets of a series that lie within a window, computed without storing them."""

    def __init__(self, session: Session, series_id: int, calendar: BucketCalendar) -> None:
        self._session = session
        self._series_id = series_id
        self._calendar = calendar
        self._levels = dict[Grain, LevelSummaries]()

    def between(self, grain: Grain, begin: int, end: int) -> Iterator[tuple[int, ValueSummary | None]]:
        """Yield start and summary of the buckets of a grain that begin within a window."""
        for start, summary in self._levels.get(grain, {}).items():
            if begin <= start < end:
                yield start, summary

    def compute(self, grain: Grain, begin: int, end: int) -> None:
        """Compute stale buckets from minutes up to *grain*, and further up as long as buckets are stale."""
        marks = self._marks(begin, end)
        stale = set[int]()
        for level in list(Grain)[1:]:
            starts = {self._calendar.start_of(start, level) for start in stale | marks[level]}
            buckets = [self._bucket(level, start) for start in sorted(starts) if start >= begin]
            whole = [bucket for bucket in buckets if bucket.over_at <= end]
            stale = {bucket.start for bucket in whole}
            self._levels[level] = self._summaries(level, whole) if whole else {}
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

    def _summaries(self, grain: Grain, buckets: list[StaleMark]) -> LevelSummaries:
        connection = self._session.connection()
        if grain is Grain.MINUTE:
            summaries = {bucket.start: summary for bucket, summary in summaries_below(connection, buckets)}
            return {bucket.start: summaries.get(bucket.start) for bucket in buckets}
        parts = {bucket.start: LevelSummaries() for bucket in buckets}
        for start, row_start, summary in levels_below(connection, buckets):
            parts[start][row_start] = summary
        for row_start, computed in self._levels[Grain(grain - 1)].items():
            if (start := self._calendar.start_of(row_start, grain)) in parts:
                parts[start][row_start] = computed
        return {start: _joined(sorted(rows.items())) for start, rows in parts.items()}


def _joined(rows: Iterable[tuple[int, ValueSummary | None]]) -> ValueSummary | None:
    summaries = [summary for _, summary in rows if summary is not None]
    return merge_summaries(summaries) if summaries else None


class CoverPart(NamedTuple):
    """A row of the cover: an event or a bucket."""

    start: int
    grain: Grain
    summary: ValueSummary


class WindowCover:
    """Rows that cover a window of one series."""

    def __init__(self, session: Session, series_id: int, calendar: BucketCalendar, counting: bool = False) -> None:
        self._stale = StaleSummaries(session, series_id, calendar)
        self._session = session
        self._series_id = series_id
        self._calendar = calendar
        self._counting = counting
        self._counted = 0
        self.deleted_before = forgotten_before(session, series_id)
        self.whole_edges = list[CoverPart]()
        """Buckets that are included whole although they overlap the edge of the window: finer rows were deleted."""

    def parts(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        """Return the rows of a grain in a window; coarser rows where those of the grain were deleted."""
        self._stale.compute(grain, begin, end)
        return self._coarser(grain, begin, end)

    def _coarser(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        first = min(max(begin, self._stored_from(grain)), end)
        older = self._coarser(Grain(grain + 1), begin, first) if begin < first and grain < Grain.YEAR else []
        return older + self._finer(grain, first, end) if first < end else older

    def is_stored(self, grain: Grain, begin: int) -> bool:
        """Whether no rows of a grain were deleted from *begin* on."""
        return self._stored_from(grain) <= begin

    def _stored_from(self, grain: Grain) -> int:
        return self.deleted_before.get(grain, EARLIEST_TIME)

    def _finer(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        """Return the rows of a grain, and finer ones for buckets that overlap an edge of the window."""
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
        """Return the buckets that overlap an edge of the window."""
        starts = ((moment, self._calendar.start_of(moment, grain)) for moment in (begin, end))
        return {start for moment, start in starts if start != moment}

    def _within(self, grain: Grain, start: int, begin: int, end: int, whole: CoverPart | None) -> list[CoverPart]:
        """Return the finer rows of a bucket that lie within the window; the whole bucket if they were deleted."""
        first, last = max(start, begin), min(self._calendar.end_of(start, grain), end)
        for finer in reversed(list(Grain)[:grain]):
            if self.is_stored(finer, first):
                return self._finer(finer, first, last)
        if whole is None:
            return []
        self.whole_edges.append(whole)
        return [whole]

    def _counted_below(self, part: CoverPart) -> list[CoverPart]:
        """Return the rows below a bucket whose counts were not stored; the bucket itself if they are too many or
        deleted.
        """
        finer, end = Grain(part.grain - 1), self._calendar.end_of(part.start, part.grain)
        if self._counted > MAX_COUNTED_ROWS or not self.is_stored(finer, part.start):
            return [part]
        return self._finer(finer, part.start, end)

    def _rows(self, grain: Grain, begin: int, end: int) -> list[CoverPart]:
        rows = query_rows(self._session, _COUNTED if self._counting else _ROWS, self._series_id, grain, begin, end)
        summaries = {start: summary_from_row(*others) for start, *others in rows}
        self._counted += len(summaries)
        for start, summary in self._stale.between(grain, begin, end):
            if summary is None:
                summaries.pop(start, None)
            else:
                summaries[start] = summary
        return [CoverPart(start, grain, summary) for start, summary in summaries.items()]

    def _events(self, begin: int, end: int) -> list[CoverPart]:
        rows = query_rows(self._session, _EVENTS, self._series_id, begin, end)
        return [CoverPart(at, Grain.EVENT, summarize_value(value, self._counting)) for at, value in rows]


def forgotten_before(session: Session, series_id: int) -> dict[Grain, int]:
    """Return, by grain, the time before which its rows were deleted."""
    rows = query_rows(session, "SELECT grain, before FROM forgotten WHERE series_id = ?", series_id)
    return {Grain(grain): before for grain, before in rows}


class SeriesRows:
    """Queries on the stored rows of one series."""

    def __init__(self, session: Session, series_id: int) -> None:
        self._session = session
        self._series_id = series_id

    def time_range(self, forgotten: Collection[Grain]) -> tuple[int, int] | None:
        """Return start and end of the stored rows; ``None`` without events. The newest event is never deleted."""
        newest = query_scalar(self._session, "SELECT max(at) FROM event WHERE series_id = ?", self._series_id)
        if newest is None:
            return None
        oldest = newest
        for grain in Grain:
            rows, moment = grain_table(grain)
            first = query_scalar(self._session, f"SELECT min({moment}) FROM {rows}", self._series_id)
            oldest = oldest if first is None else min(oldest, first)
            if grain not in forgotten:
                break
        return oldest, newest + 1

    def rows(self, grain: Grain, begin: int, end: int, most: int) -> int:
        """Count the rows of a grain in a window, at most *most* + 1."""
        rows, moment = grain_table(grain)
        # With ORDER BY, PostgreSQL uses the index; for a LIMIT alone it may scan the table.
        chosen = f"SELECT 1 FROM {rows} AND {moment} >= ? AND {moment} < ? ORDER BY {moment} LIMIT ?"
        statement = f"SELECT count(*) FROM ({chosen}) AS chosen"
        return int(query_scalar(self._session, statement, self._series_id, begin, end, most + 1))

    def value_before(self, begin: int, calendar: BucketCalendar) -> str | None:
        """Return the last value before a moment."""
        for grain in Grain:
            column = "value" if grain is Grain.EVENT else "last"
            rows, moment = grain_table(grain)
            statement = f"SELECT {column} FROM {rows} AND {moment} < ? ORDER BY {moment} DESC LIMIT 1"
            value: str | None = query_scalar(self._session, statement, self._series_id, calendar.start_of(begin, grain))
            if value is not None:
                return value
        return None
