"""What is kept of a series: from when to when, how many rows, and the value before a moment."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from tarantula.streams.history.buckets import BucketCalendar
from tarantula.streams.history.coverage_part_asking import grain_table, query_scalar
from tarantula.streams.sources.retention import Grain


class SeriesRows:
    """The rows of one series."""

    def __init__(self, session: Session, series_id: int) -> None:
        self._session = session
        self._series_id = series_id

    def stretch(self, forgotten: Collection[Grain]) -> tuple[int, int] | None:
        """Return from when to when there is anything; the newest event is always kept."""
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
        """Count the rows of a grain in a window; one more than *most*, if they are more."""
        rows, moment = grain_table(grain)
        # In order, so that PostgreSQL goes by the index: for any few rows it would read the table from its beginning.
        chosen = f"SELECT 1 FROM {rows} AND {moment} >= ? AND {moment} < ? ORDER BY {moment} LIMIT ?"
        statement = f"SELECT count(*) FROM ({chosen}) AS chosen"
        return int(query_scalar(self._session, statement, self._series_id, begin, end, most + 1))

    def value_before(self, begin: int, calendar: BucketCalendar) -> str | None:
        """Return the last value that is known from before a moment."""
        for grain in Grain:
            value = "value" if grain is Grain.EVENT else "last"
            rows, moment = grain_table(grain)
            statement = f"SELECT {value} FROM {rows} AND {moment} < ? ORDER BY {moment} DESC LIMIT 1"
            found: str | None = query_scalar(self._session, statement, self._series_id, calendar.start_of(begin, grain))
            if found is not None:
                return found
        return None
