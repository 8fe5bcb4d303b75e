"""What was read, over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from tarantula.models import Event, Series


class NewEvent(NamedTuple):
    """A value to be kept."""

    series_id: int
    at: int
    value: str
    number: float | None
    read: str | None


def series_of(session: Session, source_id: int, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the numbers of series, those of new ones among them."""
    wanted = set(wanted)
    rows = session.execute(select(Series.field, Series.row, Series.id).where(Series.source_id == source_id))
    known = {(field, row): identity for field, row, identity in rows}
    for field, row in sorted(wanted - known.keys()):
        series = Series(source_id=source_id, field=field, row=row)
        session.add(series)
        session.flush()
        known[field, row] = series.id
    return {key: known[key] for key in wanted}


def store(session: Session, events: Sequence[NewEvent]) -> int:
    """Store events."""
    known = {
        (series, at)
        for series, at in session.execute(
            select(Event.series_id, Event.at).where(Event.series_id.in_({event.series_id for event in events}))
        )
    }
    new = [event._asdict() for event in events if (event.series_id, event.at) not in known]
    if new:
        session.execute(insert(Event), new)
    return len(new)


def last_values(session: Session, series_ids: Iterable[int]) -> dict[int, Event]:
    """Return the last event of each series."""
    rows = session.scalars(select(Event).where(Event.series_id.in_(list(series_ids))).order_by(Event.at))
    return {event.series_id: event for event in rows}
