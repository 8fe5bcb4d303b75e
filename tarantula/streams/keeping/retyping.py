"""What was read of a field, read anew when somebody says that it is something else, or wants it in another unit.

Beside every value stands the text that it was read from. So the past becomes what it would be if the field had always
been that, and the next reading is no event unless something changed on the page.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from tarantula.errors import NotNow
from tarantula.models import Alert, Event, Series, Source, SourceState
from tarantula.streams.history import NewEvent
from tarantula.streams.history.rewriting import Conversion, rewrite
from tarantula.streams.keeping.remembered import Remembered
from tarantula.streams.keeping.typing_values import value_of
from tarantula.streams.keeping.value import NotRead, Value
from tarantula.streams.reading.outcome import new_event
from tarantula.streams.sources.kinds import Kind
from tarantula.streams.sources.source import SourceConfig
from tarantula.streams.sources.source_field import SourceField
from tarantula.streams.types import converted

MOST_EVENTS = 200_000
"""That are read anew in one transaction: who writes waits for it."""


def retype(session: Session, source: Source, state: SourceState, before: SourceConfig, after: SourceConfig) -> None:
    """Read anew what was read of the fields that are something else now; alerts begin anew with that."""
    changed = list(_changed(before, after))
    if not changed:
        return
    _check_size(session, source, [new.key for _, new in changed])
    remembered = Remembered.of(state.memory)
    for old, new in changed:
        reading = _Reading(new, remembered, after.address_shown)
        conversion = reading.conversion_from(old)
        series = select(Series.id).where(Series.source_id == source.id, Series.field == new.key)
        for series_id in session.scalars(series).all():
            rewrite(session, series_id, reading.anew, conversion)
        reading.remember()
    state.memory = remembered.as_json()
    flag_modified(state, "memory")
    session.flush()
    _watch_anew(session, source)


def _check_size(session: Session, source: Source, keys: list[str]) -> None:
    """Refuse to read so much anew that everybody else would wait too long for the database."""
    series = select(Series.id).where(Series.source_id == source.id, Series.field.in_(keys))
    some = select(Event.at).where(Event.series_id.in_(series)).limit(MOST_EVENTS + 1).subquery()
    if (session.scalar(select(func.count()).select_from(some)) or 0) > MOST_EVENTS:
        raise NotNow(
            f"There are more than {MOST_EVENTS:,} events of {', '.join(keys)}, too many to be read anew. "
            "Keep fewer of them, or follow it as a field of another name."
        )


def _changed(before: SourceConfig, after: SourceConfig) -> Iterator[tuple[SourceField, SourceField]]:
    known = {field.key: field for field in before.fields}
    for field in after.fields:
        old = known.get(field.key)
        # Where nobody said what it is, that is told from its next text.
        if old is not None and old.kind and field.kind and (old.kind, old.unit) != (field.kind, field.unit):
            yield old, field


class _Reading:
    """Reads the texts of the past as what their field is now."""

    def __init__(self, field: SourceField, remembered: Remembered, url: str) -> None:
        self._field = field
        self._remembered = remembered
        self._url = url

    def anew(self, event: NewEvent) -> NewEvent:
        """Return what an event is now; the same if its text is no such value."""
        text = event.value if event.read is None else event.read
        value = self._value(text, datetime.fromtimestamp(event.at / 1_000_000, UTC))
        return event if value is None else new_event(event.series_id, event.at, value, text)

    def conversion_from(self, old: SourceField) -> Conversion | None:
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
        try:
            return value_of(self._field, text, self._remembered, self._url, moment)
        except NotRead:
            return None


def _conversion(old: SourceField, new: SourceField) -> Conversion | None:
    if old.kind is not Kind.QUANTITY or new.kind is not Kind.QUANTITY or not (old.unit and new.unit):
        return None
    try:
        converted(Decimal(0), old.unit, new.unit)
    except NotRead:
        return None
    return Conversion(lambda number: converted(number, old.unit, new.unit))


def _watch_anew(session: Session, source: Source) -> None:
    """Let alerts know the past as it is now; nothing that is true already fires because of that."""
    from tarantula.streams.alerts.replaying import begin_watching

    now = time.time_ns() // 1000
    chosen = select(Alert).where(Alert.source_id == source.id, Alert.is_on.is_(True)).order_by(Alert.id)
    for alert in session.scalars(chosen.with_for_update()).all():
        begin_watching(session, alert, source, now, quietly=True)
