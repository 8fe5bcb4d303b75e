"""The texts of the past, read as what their field is now."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from tarantula.streams.history import NewEvent
from tarantula.streams.ingest.memory_part_remembered import SourceMemory
from tarantula.streams.ingest.outcome import new_event
from tarantula.streams.ingest.type_change_part_rewriting import UnitConversion
from tarantula.streams.ingest.value_typing import typed_value
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.values import convert_unit
from tarantula.streams.values.value import Value, ValueParseError


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
