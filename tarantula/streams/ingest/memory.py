"""State of a source between two readings (stored as JSON), and the usual range by which outliers are recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tarantula.core.messages import Message
from tarantula.streams.adapters.base import AdapterMemory
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.numbers import informative_texts

RANGED_KINDS = frozenset(
    {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENTAGE, ValueKind.MONEY, ValueKind.QUANTITY}
)
"""Kinds that have a usual range. Moments have none: they always increase."""
MIN_RANGE_READINGS = 5
"""Readings that are needed before outliers are recognised."""
OUTLIER_WIDTHS = 4.0
"""Distance from the range, in multiples of its width, beyond which a value is an outlier."""
RANGE_DECAY_READINGS = 50.0
"""Approximate number of readings after which a range has shrunk back from an extreme value."""
CONFIRMING_READINGS = 3
"""Similar outliers in a row that are accepted as the new range."""

UsualRange = list[float]
"""Number of readings (up to `MIN_RANGE_READINGS`), minimum, maximum."""
OutlierRun = list[float]
"""First value of a run of outliers, and their number."""


def is_outlier(number: float, usual: UsualRange | None) -> bool:
    """Whether a value is far outside the usual range."""
    if usual is None or usual[0] < MIN_RANGE_READINGS:
        return False
    _, low, high = usual
    width = max(high - low, max(abs(low), abs(high)) / 2)
    # A series that was always zero has no scale to compare with.
    return width > 0 and not low - OUTLIER_WIDTHS * width <= number <= high + OUTLIER_WIDTHS * width


def extended_range(number: float, usual: UsualRange | None) -> UsualRange:
    """Return the range with one more value."""
    if usual is None:
        return [1, number, number]
    count, low, high = usual
    return [
        min(count + 1, MIN_RANGE_READINGS),
        min(number, low + (number - low) / RANGE_DECAY_READINGS),
        max(number, high - (high - number) / RANGE_DECAY_READINGS),
    ]


def extended_run(number: float, run: OutlierRun | None) -> OutlierRun:
    """Return the run of outliers with one more value; a value that differs by more than half starts a new run."""
    if run is not None and abs(number - run[0]) <= abs(run[0]) / 2:
        return [run[0], run[1] + 1]
    return [number, 1]


def outlier_sentence(number: float, usual: UsualRange) -> str:
    """Return why a value is in doubt."""
    return Message(
        "{number:g} is far outside what is usual here, {low:g} to {high:g}.", number=number, low=usual[1], high=usual[2]
    )


@dataclass(slots=True)
class SourceMemory:
    """State of a source, stored as JSON in `SourceState.memory`; field names are the JSON keys."""

    adapter: AdapterMemory = field(default_factory=dict)
    """State of the adapter."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Distinct texts of each field, from which its number format is derived."""
    last: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    """Latest value by field and row, and the text that it was parsed from if it differs."""
    usual: dict[str, dict[str, UsualRange]] = field(default_factory=dict)
    runs: dict[str, dict[str, OutlierRun]] = field(default_factory=dict)
    """Runs of outliers by field and row."""
    guessed: list[str] = field(default_factory=list)
    """Fields whose kind was guessed."""
    rows: list[str] = field(default_factory=list)
    """Row names at the last reading, in order; empty if rows have no names."""
    news: bool = False
    """Whether each row is an event of its own, like an entry of a feed."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> SourceMemory:
        """Load the stored state as a deep copy, so that changes do not alter the stored one."""
        return cls(**{each.name: _copied(stored[each.name]) for each in fields(cls) if each.name in stored})

    def as_json(self) -> dict[str, Any]:
        """Return the non-empty fields."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}

    def note_text(self, key: str, text: str) -> None:
        """Add to the texts from which the number format of a field is derived."""
        texts = self.texts.get(key, [])
        if text not in texts:
            self.texts[key] = informative_texts(texts, text)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value
