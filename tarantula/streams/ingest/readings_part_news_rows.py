"""Rows that are news, each of them an event of its own: the entries of a feed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.streams.adapters.base import ReadRow
from tarantula.streams.history import NewEvent, series_of
from tarantula.streams.ingest.outcome import new_event
from tarantula.streams.values.value import Value
from tarantula.tables.publications import Event

TIEBREAK_MICROSECONDS = 10_000
"""Microseconds within which an entry gives way to others of the same second."""


class EntryEvents:
    """Gives each a moment of its own."""

    def __init__(self, session: Session, source_id: int, at: int) -> None:
        self._session = session
        self._source_id = source_id
        self._at = at
        self._used: set[int] = set()

    def events(self, row: ReadRow, values: Mapping[str, tuple[Value, str]]) -> list[NewEvent]:
        """Return a row's events, all at one moment that no other row has; none if it is stored already."""
        if not values:
            return []
        series = series_of(self._session, self._source_id, [(key, "") for key in values])
        first = self.moment(row)
        stored: dict[int, dict[int, str]] = {}
        for identity, at, value in self._session.execute(
            select(Event.series_id, Event.at, Event.value).where(
                Event.series_id.in_(series.values()), Event.at.between(first, first + TIEBREAK_MICROSECONDS)
            )
        ):
            stored.setdefault(at, {})[identity] = value
        wanted = {series[key, ""]: value.text for key, (value, _) in values.items()}
        if wanted in stored.values():
            return []
        at = next(at for at in count(first) if at not in stored and at not in self._used)
        self._used.add(at)
        return [new_event(series[key, ""], at, value, text) for key, (value, text) in values.items()]

    def moment(self, row: ReadRow) -> int:
        """When it happened; nothing is read before it happens, whatever it says of itself."""
        return self._at if row.at is None else min(int(row.at.timestamp() * 1e6), self._at)
