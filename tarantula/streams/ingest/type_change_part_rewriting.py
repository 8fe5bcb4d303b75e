"""What is kept of a series, written anew: as it would be if its field had always been what it is now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.store import bulk
from tarantula.streams.history.buckets import EARLIEST_TIME, MINUTE
from tarantula.streams.history.coverage import forgotten_before
from tarantula.streams.history.events import NewEvent
from tarantula.streams.history.events_part_locks import lock_out_retention
from tarantula.streams.history.levels import replace_levels, summary_from_row
from tarantula.streams.history.levels_part_marks import StaleMark, mark_stale
from tarantula.streams.history.summary import ValueSummary
from tarantula.streams.history.summary_part_numbers import EXACT_CONTEXT, exact_number, format_number
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Event, Level

EVENTS_PER_BATCH = 5000
"""Events that are read before they are written."""
_UPDATE = """
    UPDATE event SET value = given.column3, number = given.column4, read = given.column5 FROM ({rows}) AS given
    WHERE event.series_id = given.column1 AND event.at = given.column2
"""
_TYPES = ("integer", "bigint", "text", "float8", "text")

EventTransform = Callable[[NewEvent], NewEvent]
"""What an event is now; the same if it cannot be told."""


class UnitConversion(NamedTuple):
    """From one unit to another, for sums whose events are forgotten."""

    convert: Callable[[Decimal], Decimal]

    def of_summary(self, summary: ValueSummary) -> ValueSummary:
        """Return what was summed up, in the other unit."""
        total = summary.sum
        if total is not None:
            zero = self.convert(Decimal(0))
            total = EXACT_CONTEXT.add(self.convert(total), EXACT_CONTEXT.multiply(zero, Decimal(summary.count - 1)))
        texts = (summary.minimum, summary.maximum, summary.first, summary.last)
        minimum, maximum, first, last = (None if text is None else self.of_text(text) for text in texts)
        counts = summary.counts
        if counts is not None:
            counts = {self.of_text(text): number for text, number in counts.items()}
        assert first is not None
        assert last is not None
        return ValueSummary(summary.count, total, minimum, maximum, first, last, counts)

    def of_text(self, text: str) -> str:
        """Return a value in the other unit; words stay."""
        number = exact_number(text)
        return text if number is None else format_number(self.convert(number))


def rewrite_events(
    session: Session, series_id: int, anew: EventTransform, conversion: UnitConversion | None = None
) -> int:
    """Write the events of a series anew, and what is above them is stale; return how many became others.

    Of what was summed up and then forgotten, only what can be converted becomes another.
    """
    connection = session.connection()
    lock_out_retention(connection)
    if conversion is not None:
        _convert_levels(session, series_id, conversion)
    number = 0
    for some in event_batches(session, series_id):
        changed = [new for old in some if (new := anew(old)) != old]
        bulk.execute_rows(connection, _UPDATE, changed, _TYPES)
        minutes = {event.at - event.at % MINUTE for event in changed}
        mark_stale(connection, [StaleMark(series_id, Grain.MINUTE, start, start + MINUTE) for start in minutes])
        number += len(changed)
    return number


def event_batches(session: Session, series_id: int) -> Iterator[Sequence[NewEvent]]:
    """Yield the events of a series, some at a time, the oldest first."""
    columns = (Event.series_id, Event.at, Event.value, Event.number, Event.read)
    last: int | None = None
    while True:
        chosen = select(*columns).where(Event.series_id == series_id).order_by(Event.at).limit(EVENTS_PER_BATCH)
        rows: Sequence[Any] = session.execute(chosen if last is None else chosen.where(Event.at > last)).all()
        if not rows:
            return
        last = rows[-1].at
        yield [NewEvent(*row) for row in rows]


def _convert_levels(session: Session, series_id: int, conversion: UnitConversion) -> None:
    """Convert what nothing is kept below; the rest is built anew from there."""
    before = forgotten_before(session, series_id).get(Grain.EVENT, EARLIEST_TIME)
    columns = (Level.count, Level.sum, Level.minimum, Level.maximum, Level.first, Level.last, Level.counts)
    rows: Sequence[Any] = session.execute(
        select(Level.grain, Level.start, *columns).where(Level.series_id == series_id, Level.start < before)
    ).all()
    for some in bulk.chunks(rows):
        replace_levels(
            session.connection(),
            [
                (StaleMark(series_id, Grain(grain), start, 0), conversion.of_summary(summary_from_row(*others)))
                for grain, start, *others in some
            ],
        )
