"""Single events: the last of each series, and those of a while."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from tarantula.store.bulk import chunks
from tarantula.tables.publications import Event, Series


def last_values(session: Session, series_ids: Iterable[int]) -> dict[int, Event]:
    """Return the newest event of each series that has any. It is never forgotten."""
    other = aliased(Event)
    newest = select(func.max(other.at)).where(other.series_id == Series.id).correlate(Series).scalar_subquery()
    found = dict[int, Event]()
    for some in chunks(dict.fromkeys(series_ids)):
        rows = session.scalars(
            select(Event)
            .select_from(Series)
            .join(Event, (Event.series_id == Series.id) & (Event.at == newest))
            .where(Series.id.in_(some))
        )
        found |= {event.series_id: event for event in rows}
    return found


def newest_events(
    session: Session,
    series_id: int,
    begin: int | None = None,
    end: int | None = None,
    limit: int = 100,
    before: int | None = None,
) -> list[Event]:
    """Return events of a series, the newest first: from *begin* on, before *end*.

    For the next ones, give the moment of the last one that came as *before*.
    """
    chosen = select(Event).where(Event.series_id == series_id)
    if begin is not None:
        chosen = chosen.where(Event.at >= begin)
    for limit_at in (end, before):
        if limit_at is not None:
            chosen = chosen.where(Event.at < limit_at)
    return list(session.scalars(chosen.order_by(Event.at.desc()).limit(limit)))
