"""Edit a stored source; the history of fields whose type changes is converted."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from tarantula.accounts.roles import Owner
from tarantula.core.errors import ConflictError
from tarantula.models import Alert, Event, Level, Series, Source, SourceState
from tarantula.store import bulk
from tarantula.streams.alerts.replay import start_watching
from tarantula.streams.history.coverage import forgotten_before
from tarantula.streams.history.events import NewEvent, lock_out_retention
from tarantula.streams.history.levels import (
    EARLIEST_TIME,
    MINUTE,
    StaleMark,
    mark_stale,
    replace_levels,
    summary_from_row,
)
from tarantula.streams.history.summary import EXACT_CONTEXT, ValueSummary, exact_number, format_number
from tarantula.streams.ingest.value_typing import SourceMemory, new_event, typed_value
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, SourceField
from tarantula.streams.sources.registry import ProgressCallback, config_of
from tarantula.streams.sources.retention import Grain
from tarantula.streams.values import convert_unit
from tarantula.streams.values.value import Value, ValueParseError

MAX_REPARSED_EVENTS = 200_000
"""Maximum number of events of one type change: writers wait for its transaction."""
EVENTS_PER_BATCH = 5000
_UPDATE = """
    UPDATE event SET value = given.column3, number = given.column4, read = given.column5 FROM ({rows}) AS given
    WHERE event.series_id = given.column1 AND event.at = given.column2
"""
_TYPES = ("integer", "bigint", "text", "float8", "text")


EventTransform = Callable[[NewEvent], NewEvent]
"""Returns the new version of an event; the same event if its text cannot be parsed."""


@dataclass(frozen=True, slots=True)
class ParsedTexts:
    """Values of texts, if they are parsed with the type of *field*."""

    field: SourceField
    values: dict[Hashable, Value | None]

    def has_type_of(self, other: SourceField) -> bool:
        """Whether another field parses texts in the same way."""
        mine = self.field
        return (mine.key, mine.kind, mine.unit) == (other.key, other.kind, other.unit)


def parse_history(
    session: Session, source: Source, after: SourceConfig, progress: ProgressCallback = lambda _done, _all: None
) -> list[ParsedTexts]:
    """Parse the history of all fields whose type would change; refuse if they have too many events."""
    changed = list(_changed(config_of(source), after))
    keys = [new.key for _, new in changed]
    total = _check_size(session, source, keys) if keys else 0
    memory = SourceMemory.of(session.get_one(SourceState, source.id).memory)
    parsed, done = [ParsedTexts(new, {}) for _, new in changed], 0
    for one in parsed:
        reparser = TextReparser(one, memory, after.masked_address)
        for series_id in session.scalars(_series(source, [one.field.key])).all():
            for batch in event_batches(session, series_id):
                for event in batch:
                    reparser.reparse(event)
                done += len(batch)
                progress(done, total)
    return parsed


def apply_type_change(
    session: Session,
    source: Source,
    state: SourceState,
    before: SourceConfig,
    after: SourceConfig,
    parsed: Iterable[ParsedTexts] = (),
) -> None:
    """Rewrite the history of all fields whose type changed, and restart the alerts of the source."""
    changed = list(_changed(before, after))
    if not changed:
        return
    _check_size(session, source, [new.key for _, new in changed])
    memory = SourceMemory.of(state.memory)
    known = list(parsed)
    for old, new in changed:
        texts = next((one for one in known if one.has_type_of(new)), ParsedTexts(new, {}))
        reparser = TextReparser(texts, memory, after.masked_address)
        conversion = reparser.conversion_from(old)
        for series_id in session.scalars(_series(source, [new.key])).all():
            rewrite_events(session, series_id, reparser.reparse, conversion)
        reparser.update_memory()
    state.memory = memory.as_json()
    flag_modified(state, "memory")
    session.flush()
    _restart_alerts(session, source)


def _series(source: Source, keys: list[str]) -> Select[int]:
    return select(Series.id).where(Series.source_id == source.id, Series.field.in_(keys))


def _check_size(session: Session, source: Source, keys: list[str]) -> int:
    """Return the number of events of some fields; refuse more than `MAX_REPARSED_EVENTS`."""
    events = (
        select(Event.at).where(Event.series_id.in_(_series(source, keys))).limit(MAX_REPARSED_EVENTS + 1).subquery()
    )
    number = session.scalar(select(func.count()).select_from(events)) or 0
    if number > MAX_REPARSED_EVENTS:
        raise ConflictError(
            "There are more than {limit:,} events of {keys}, too many to convert. "
            "Shorten the retention of the source, or add a field with another key.",
            limit=MAX_REPARSED_EVENTS,
            keys=", ".join(keys),
        )
    return number


def _changed(before: SourceConfig, after: SourceConfig) -> Iterator[tuple[SourceField, SourceField]]:
    known = {field.key: field for field in before.fields}
    for field in after.fields:
        old = known.get(field.key)
        # A field without a kind gets one from its next text.
        if old is not None and old.kind and field.kind and (old.kind, old.unit) != (field.kind, field.unit):
            yield old, field


def _restart_alerts(session: Session, source: Source) -> None:
    """Initialise the alerts of a source from the rewritten history; conditions that are true already do not fire."""
    now = time.time_ns() // 1000
    chosen = select(Alert).where(Alert.source_id == source.id, Alert.is_on.is_(True)).order_by(Alert.id)
    for alert in session.scalars(chosen.with_for_update()).all():
        start_watching(session, alert, source, now, quietly=True)


class TextReparser:
    """Parses texts with the new type of a field; each distinct text is parsed once."""

    def __init__(self, parsed: ParsedTexts, memory: SourceMemory, url: str) -> None:
        self._field, self._values = parsed.field, parsed.values
        self._memory = memory
        self._url = url

    def reparse(self, event: NewEvent) -> NewEvent:
        """Return an event with its text parsed again; the same event if the text cannot be parsed."""
        text = event.value if event.read is None else event.read
        value = self._value(text, datetime.fromtimestamp(event.at / 1_000_000, UTC))
        return event if value is None else new_event(event.series_id, event.at, value, text)

    def conversion_from(self, old: SourceField) -> UnitConversion | None:
        """Return the unit conversion, if it turns the latest value into what its text is parsed to."""
        conversion = _conversion(old, self._field)
        for value, text in self._memory.last.get(self._field.key, {}).values():
            now = self._value(str(value if text is None else text), datetime.now(UTC))
            if conversion is not None and now is not None and conversion.of_text(str(value)) == now.text:
                return conversion
        return None

    def update_memory(self) -> None:
        """Update the latest values in the source's memory; the usual range starts over."""
        key = self._field.key
        for row, (value, text) in self._memory.last.get(key, {}).items():
            source_text = text if text is not None else str(value)
            now = self._value(source_text, datetime.now(UTC))
            if now is not None:
                self._memory.last[key][row] = [now.text, None if source_text == now.text else source_text]
        for by_field in (self._memory.usual, self._memory.runs):
            by_field.pop(key, None)
        if key in self._memory.guessed:
            self._memory.guessed.remove(key)

    def _value(self, text: str, moment: datetime) -> Value | None:
        # Only relative moments (“yesterday”) depend on the time of reading.
        key = (text, moment) if self._field.kind is ValueKind.MOMENT else text
        if key not in self._values:
            try:
                self._values[key] = typed_value(self._field, text, self._memory, self._url, moment)
            except ValueParseError:
                self._values[key] = None
        return self._values[key]


def _conversion(old: SourceField, new: SourceField) -> UnitConversion | None:
    if old.kind is not ValueKind.QUANTITY or new.kind is not ValueKind.QUANTITY or not (old.unit and new.unit):
        return None
    try:
        convert_unit(Decimal(0), old.unit, new.unit)
    except ValueParseError:
        return None
    return UnitConversion(lambda number: convert_unit(number, old.unit, new.unit))


class UnitConversion(NamedTuple):
    """Unit conversion of level rows whose events were deleted."""

    convert: Callable[[Decimal], Decimal]

    def of_summary(self, summary: ValueSummary) -> ValueSummary:
        """Return a summary in the new unit."""
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
        """Return a value in the new unit; a text that is not a number is unchanged."""
        number = exact_number(text)
        return text if number is None else format_number(self.convert(number))


def rewrite_events(
    session: Session, series_id: int, transform: EventTransform, conversion: UnitConversion | None = None
) -> int:
    """Rewrite the events of a series and mark the levels above as stale; return the number of changed events.

    Level rows whose events were deleted change only if a unit conversion is given.
    """
    connection = session.connection()
    lock_out_retention(connection)
    if conversion is not None:
        _convert_levels(session, series_id, conversion)
    number = 0
    for batch in event_batches(session, series_id):
        changed = [new for old in batch if (new := transform(old)) != old]
        bulk.execute_rows(connection, _UPDATE, changed, _TYPES)
        minutes = {event.at - event.at % MINUTE for event in changed}
        mark_stale(connection, [StaleMark(series_id, Grain.MINUTE, start, start + MINUTE) for start in minutes])
        number += len(changed)
    return number


def event_batches(session: Session, series_id: int) -> Iterator[Sequence[NewEvent]]:
    """Yield all events of a series in batches, oldest first."""
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
    """Convert level rows that have no events below them any more; the others are rebuilt from their events."""
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


def parse_history_for_edit(
    session: Session, name: str, changes: Mapping[str, Any], person: Owner | None = None, **callbacks: ProgressCallback
) -> Sequence[ParsedTexts]:
    """Parse the history that some changes would convert: the slow part of `edit_source`, without a lock."""
    source = registry.get(session, name, person)
    return parse_history(session, source, registry.changed_config(source, changes), **callbacks)


def edit_source(
    session: Session,
    name: str,
    changes: Mapping[str, Any],
    person: Owner | None = None,
    parsed: Sequence[ParsedTexts] = (),
) -> Source:
    """Change some fields of a source's configuration, and convert the history where a type changed.

    *parsed* is the result of `parse_history_for_edit` for the same changes; with it the transaction is shorter.
    """
    source = registry.get(session, name, person)
    # The lock makes writers of readings wait until the edit is committed.
    state = session.get_one(SourceState, source.id, with_for_update=True)
    session.refresh(source)
    before, after = registry.config_of(source), registry.changed_config(source, changes)
    registry.write_config(source, after, datetime.now(UTC))
    apply_type_change(session, source, state, before, after, parsed)
    state.due_at, state.validators = 0, {}
    session.flush()
    return source
