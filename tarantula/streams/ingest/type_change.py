"""Parse the stored history of a field again when its kind or unit changes.

Each event stores the text that it was parsed from, so the history becomes what it would be if the field had always had
the new type, and the next reading is an event only if the page changed.

Everything changes in one transaction: readers never see a half-converted history, and a killed process has changed
nothing. Parsing all texts, the slow part, is done before the transaction, while others can write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from tarantula.core.errors import ConflictError
from tarantula.models import Alert, Event, Level, Series, Source, SourceState
from tarantula.store import bulk
from tarantula.streams.history.buckets import EARLIEST_TIME, MINUTE
from tarantula.streams.history.coverage import forgotten_before
from tarantula.streams.history.events import NewEvent, lock_out_retention
from tarantula.streams.history.levels import StaleMark, mark_stale, replace_levels, summary_from_row
from tarantula.streams.history.summary import EXACT_CONTEXT, ValueSummary, exact_number, format_number
from tarantula.streams.ingest.memory import SourceMemory
from tarantula.streams.ingest.outcome import new_event
from tarantula.streams.ingest.value_typing import typed_value
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import SourceConfig, SourceField
from tarantula.streams.sources.registry import ProgressCallback, config_of
from tarantula.streams.sources.retention import Grain
from tarantula.streams.values import convert_unit
from tarantula.streams.values.value import Value, ValueParseError

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


@dataclass(frozen=True, slots=True)
class ParsedTexts:
    """What texts say, if their field is this."""

    field: SourceField
    values: dict[Hashable, Value | None]

    def is_of(self, other: SourceField) -> bool:
        """Whether texts say the same in another field."""
        mine = self.field
        return (mine.key, mine.kind, mine.unit) == (other.key, other.kind, other.unit)


class TextReparser:
    """Reads texts again; those that were understood before are not thought about twice."""

    def __init__(self, understood: ParsedTexts, remembered: SourceMemory, url: str) -> None:
        self._field, self._understood = understood.field, understood.values
        self._remembered = remembered
        self._url = url

    def anew(self, event: NewEvent) -> NewEvent:
        """Return what an event is now; the same if its text is no such value."""
        text = event.value if event.read is None else event.read
        value = self._value(text, datetime.fromtimestamp(event.at / 1_000_000, UTC))
        return event if value is None else new_event(event.series_id, event.at, value, text)

    def conversion_from(self, old: SourceField) -> UnitConversion | None:
        """Return how sums come from the old unit to the new one, if that is what became of the last value."""
        conversion = _conversion(old, self._field)
        for value, text in self._remembered.last.get(self._field.key, {}).values():
            now = self._value(str(value if text is None else text), datetime.now(UTC))
            if conversion is not None and now is not None and conversion.of_text(str(value)) == now.text:
                return conversion
        return None

    def remember(self) -> None:
        """Remember the last values as they are now; what is usual is learnt anew."""
        key = self._field.key
        for row, (value, text) in self._remembered.last.get(key, {}).items():
            said = text if text is not None else str(value)
            now = self._value(said, datetime.now(UTC))
            if now is not None:
                self._remembered.last[key][row] = [now.text, None if said == now.text else said]
        for known in (self._remembered.usual, self._remembered.runs):
            known.pop(key, None)
        if key in self._remembered.guessed:
            self._remembered.guessed.remove(key)

    def _value(self, text: str, moment: datetime) -> Value | None:
        # Only what a moment is may depend on when it was read: “yesterday”.
        key = (text, moment) if self._field.kind is ValueKind.MOMENT else text
        if key not in self._understood:
            try:
                self._understood[key] = typed_value(self._field, text, self._remembered, self._url, moment)
            except ValueParseError:
                self._understood[key] = None
        return self._understood[key]


def _conversion(old: SourceField, new: SourceField) -> UnitConversion | None:
    if old.kind is not ValueKind.QUANTITY or new.kind is not ValueKind.QUANTITY or not (old.unit and new.unit):
        return None
    try:
        convert_unit(Decimal(0), old.unit, new.unit)
    except ValueParseError:
        return None
    return UnitConversion(lambda number: convert_unit(number, old.unit, new.unit))


MAX_REPARSED_EVENTS = 200_000
"""That are read anew in one transaction: who writes waits for it."""


def parse_history(
    session: Session, source: Source, after: SourceConfig, progress: ProgressCallback = lambda _done, _all: None
) -> list[ParsedTexts]:
    """Return what all texts say of the fields that are to be something else; it is refused if they are too many."""
    changed = list(_changed(config_of(source), after))
    keys = [new.key for _, new in changed]
    total = _check_size(session, source, keys) if keys else 0
    remembered = SourceMemory.of(session.get_one(SourceState, source.id).memory)
    understood, done = [ParsedTexts(new, {}) for _, new in changed], 0
    for one in understood:
        reading = TextReparser(one, remembered, after.address_shown)
        for series_id in session.scalars(_series(source, [one.field.key])).all():
            for some in event_batches(session, series_id):
                for event in some:
                    reading.anew(event)
                done += len(some)
                progress(done, total)
    return understood


def apply_type_change(
    session: Session,
    source: Source,
    state: SourceState,
    before: SourceConfig,
    after: SourceConfig,
    understood: Iterable[ParsedTexts] = (),
) -> None:
    """Read anew what was read of the fields that are something else now; alerts begin anew with that."""
    changed = list(_changed(before, after))
    if not changed:
        return
    _check_size(session, source, [new.key for _, new in changed])
    remembered = SourceMemory.of(state.memory)
    known = list(understood)
    for old, new in changed:
        before_now = next((one for one in known if one.is_of(new)), ParsedTexts(new, {}))
        reading = TextReparser(before_now, remembered, after.address_shown)
        conversion = reading.conversion_from(old)
        for series_id in session.scalars(_series(source, [new.key])).all():
            rewrite_events(session, series_id, reading.anew, conversion)
        reading.remember()
    state.memory = remembered.as_json()
    flag_modified(state, "memory")
    session.flush()
    _restart_alerts(session, source)


def _series(source: Source, keys: list[str]) -> Select[int]:
    return select(Series.id).where(Series.source_id == source.id, Series.field.in_(keys))


def _check_size(session: Session, source: Source, keys: list[str]) -> int:
    """Return how many events there are, or refuse so many that everybody else would wait too long for the database."""
    some = select(Event.at).where(Event.series_id.in_(_series(source, keys))).limit(MAX_REPARSED_EVENTS + 1).subquery()
    number = session.scalar(select(func.count()).select_from(some)) or 0
    if number > MAX_REPARSED_EVENTS:
        raise ConflictError(
            f"There are more than {MAX_REPARSED_EVENTS:,} events of {', '.join(keys)}, too many to be read anew. "
            "Keep fewer of them, or follow it as a field of another name."
        )
    return number


def _changed(before: SourceConfig, after: SourceConfig) -> Iterator[tuple[SourceField, SourceField]]:
    known = {field.key: field for field in before.fields}
    for field in after.fields:
        old = known.get(field.key)
        # Where nobody said what it is, that is told from its next text.
        if old is not None and old.kind and field.kind and (old.kind, old.unit) != (field.kind, field.unit):
            yield old, field


def _restart_alerts(session: Session, source: Source) -> None:
    """Let alerts know the past as it is now; nothing that is true already fires because of that."""
    from tarantula.streams.alerts.replay import start_watching

    now = time.time_ns() // 1000
    chosen = select(Alert).where(Alert.source_id == source.id, Alert.is_on.is_(True)).order_by(Alert.id)
    for alert in session.scalars(chosen.with_for_update()).all():
        start_watching(session, alert, source, now, quietly=True)
