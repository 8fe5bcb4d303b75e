"""State of a source between two readings (stored as JSON), and the usual range by which outliers are recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tarantula.streams.adapters.base import AdapterMemory
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.numbers import informative_texts

RANGED_KINDS = frozenset(
    {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENTAGE, ValueKind.MONEY, ValueKind.QUANTITY}
)
"""Of which there is a usual range: dates go on for ever."""
MIN_RANGE_READINGS = 5
"""Readings before anything is known of what is usual."""
OUTLIER_WIDTHS = 4.0
"""How many times its own width a range is left before a value is far outside."""
RANGE_DECAY_READINGS = 50.0
"""How many readings it takes, about, until a range forgets a value that was never seen again."""
CONFIRMING_READINGS = 3
"""Readings in a row that make a value far outside one to be believed."""

UsualRange = list[float]
"""How many readings (up to `ENOUGH`), the least, the most."""
OutlierRun = list[float]
"""The first of some readings far outside, and how many there were in a row."""


def is_outlier(number: float, usual: UsualRange | None) -> bool:
    """Whether a value is far outside what is usual."""
    if usual is None or usual[0] < MIN_RANGE_READINGS:
        return False
    _, low, high = usual
    width = max(high - low, max(abs(low), abs(high)) / 2)
    # Of what has always been nothing, nobody knows how large it gets.
    return width > 0 and not low - OUTLIER_WIDTHS * width <= number <= high + OUTLIER_WIDTHS * width


def extended_range(number: float, usual: UsualRange | None) -> UsualRange:
    """Return the range with one value more."""
    if usual is None:
        return [1, number, number]
    count, low, high = usual
    return [
        min(count + 1, MIN_RANGE_READINGS),
        min(number, low + (number - low) / RANGE_DECAY_READINGS),
        max(number, high - (high - number) / RANGE_DECAY_READINGS),
    ]


def extended_run(number: float, run: OutlierRun | None) -> OutlierRun:
    """Return how many readings in a row say much the same, with this one."""
    if run is not None and abs(number - run[0]) <= abs(run[0]) / 2:
        return [run[0], run[1] + 1]
    return [number, 1]


def outlier_sentence(number: float, usual: UsualRange) -> str:
    """Say why a value is doubted."""
    return f"{number:g} is far outside what is usual here, {usual[1]:g} to {usual[2]:g}."


@dataclass(slots=True)
class SourceMemory:
    """One part for each that has something to remember; kept as JSON in the source's state."""

    adapter: AdapterMemory = field(default_factory=dict)
    """What the adapter wants to know next time."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Different texts of each field, from which its way of writing is told."""
    last: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    """The last value of each field and row, and the text that it was read from where that differs."""
    usual: dict[str, dict[str, UsualRange]] = field(default_factory=dict)
    runs: dict[str, dict[str, OutlierRun]] = field(default_factory=dict)
    """Readings in a row that were far outside."""
    guessed: list[str] = field(default_factory=list)
    """Fields whose kind nobody chose."""
    rows: list[str] = field(default_factory=list)
    """The names of the rows that were there when it was read last, in their order; nothing if they have none."""
    news: bool = False
    """Whether each row is news, and none stays."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> SourceMemory:
        """Read what was stored; it may be changed in place, for the row is given a new one."""
        return cls(**{part.name: _copied(stored[part.name]) for part in fields(cls) if part.name in stored})

    def as_json(self) -> dict[str, Any]:
        """Return it for the row, without what is empty."""
        return {part.name: value for part in fields(self) if (value := getattr(self, part.name))}

    def note_text(self, key: str, text: str) -> None:
        """Add to the texts from which a field's way of writing is told."""
        texts = self.texts.get(key, [])
        if text not in texts:
            self.texts[key] = informative_texts(texts, text)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value
