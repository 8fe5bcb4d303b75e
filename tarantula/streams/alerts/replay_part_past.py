"""The events of the past, moment by moment, as alerts would have met them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.streams.alerts.condition import RowScope, condition_fields, leaf_conditions
from tarantula.streams.alerts.evaluate import RowField
from tarantula.streams.alerts.judgement import AlertStep, stored_value
from tarantula.streams.alerts.memory import FieldMemory, SeenValue
from tarantula.streams.alerts.memory_part_following import history_needs
from tarantula.streams.alerts.watch import AlertTerms
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Event, Forgotten, Level, Series

PAST_EVENTS_PER_QUERY = 1000
RECORD_GRAINS = (Grain.DAY, Grain.MONTH, Grain.YEAR)


class SeriesExtremes(NamedTuple):
    """The highest and the lowest of a series."""

    high: SeenValue | None
    low: SeenValue | None


def watched_series(session: Session, source_id: int, terms: AlertTerms) -> dict[int, RowField]:
    """Return the series that an alert looks at; of every field, where it waits for silence."""
    chosen = select(Series.id, Series.row, Series.field).where(Series.source_id == source_id)
    if not any(leaf.field is None for leaf in leaf_conditions(terms.rule.when)):
        chosen = chosen.where(Series.field.in_(condition_fields(terms.rule.when)))
    if terms.rule.rows == RowScope.ONE:
        chosen = chosen.where(Series.row == terms.rule.row)
    return {identity: (row, field) for identity, row, field in session.execute(chosen)}


def longest_window(terms: AlertTerms) -> int:
    """Return how far back a condition looks, in microseconds."""
    return max((max(need.past, need.highs, need.lows) for need in history_needs(terms.rule.when).values()), default=0)


def past_steps(session: Session, known: Mapping[int, RowField], begin: int, end: int) -> Iterator[AlertStep]:
    """Yield what came from *begin* on and before *end*."""
    streams = [_events(session, identity, place, begin, end) for identity, place in known.items()]
    for at, some in groupby(heapq.merge(*streams, key=lambda event: event[0]), key=lambda event: event[0]):
        yield at, {place: value for _, place, value in some}


def values_before(session: Session, known: Mapping[int, RowField], at: int, number: int = 1) -> list[AlertStep]:
    """Return the last values of each series before a moment, the oldest first."""
    found = dict[int, dict[RowField, SeenValue]]()
    for identity, place in known.items():
        chosen = select(Event.at, Event.value, Event.number).where(Event.series_id == identity, Event.at < at)
        for moment, value, figure in session.execute(chosen.order_by(Event.at.desc()).limit(number)):
            found.setdefault(moment, {})[place] = stored_value(value, figure)
    return sorted(found.items(), key=lambda step: step[0])


def series_extremes(session: Session, identity: int, before: int) -> SeriesExtremes:
    """Return the records of a series: by what was summed up, and by what is still there in single events."""
    values = list[SeenValue]()
    chosen = select(Event.value, Event.number).where(Event.series_id == identity, Event.at < before)
    for order in (func.max, func.min):
        best = select(order(Event.number)).where(Event.series_id == identity, Event.at < before).scalar_subquery()
        values += [
            stored_value(value, number)
            for value, number in session.execute(chosen.where(Event.number == best).limit(1))
        ]
    levels = select(Level.minimum, Level.maximum).where(
        Level.series_id == identity, Level.grain.in_(RECORD_GRAINS), Level.start < before
    )
    for row in session.execute(levels):
        values += [SeenValue(text, number) for text in row if (number := _number(text)) is not None]
    numbers = sorted((one for one in values if one.number is not None), key=lambda one: one.number or 0)
    return SeriesExtremes(numbers[-1], numbers[0]) if numbers else SeriesExtremes(None, None)


def load_records(
    session: Session, known: Mapping[int, RowField], terms: AlertTerms, rows: dict[str, dict[str, FieldMemory]]
) -> None:
    """Let an alert know the records that were set before it began to watch."""
    wanted = history_needs(terms.rule.when)
    for identity, (row, key) in known.items():
        need, followed = wanted.get(key), rows.get(row, {}).get(key)
        if need and followed and (need.high or need.low):
            found = series_extremes(session, identity, followed.at)
            followed.high = found.high if need.high else None
            followed.low = found.low if need.low else None


def events_forgotten_before(session: Session, known: Iterable[int]) -> int | None:
    """Return before which moment single events of some series were forgotten on purpose."""
    chosen = select(func.max(Forgotten.before)).where(
        Forgotten.series_id.in_(list(known)), Forgotten.grain == int(Grain.EVENT)
    )
    return session.scalar(chosen)


def _events(
    session: Session, identity: int, place: RowField, begin: int, end: int
) -> Iterator[tuple[int, RowField, SeenValue]]:
    while True:
        chosen = (
            select(Event.at, Event.value, Event.number)
            .where(Event.series_id == identity, Event.at >= begin, Event.at < end)
            .order_by(Event.at)
            .limit(PAST_EVENTS_PER_QUERY)
        )
        rows = session.execute(chosen).all()
        yield from ((at, place, stored_value(value, number)) for at, value, number in rows)
        if len(rows) < PAST_EVENTS_PER_QUERY:
            return
        begin = rows[-1].at + 1


def _number(text: str | None) -> Decimal | None:
    try:
        return None if text is None else Decimal(text)
    except InvalidOperation:
        return None
