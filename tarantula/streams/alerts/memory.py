"""What an alert remembers between two events, kept as JSON: nothing else of the past is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, Self

MAX_TRAIL_VALUES = 500
"""Values of a window that are told apart; of more, neighbours are taken together."""


class SeenValue(NamedTuple):
    """A value as it was kept."""

    text: str
    number: Decimal | None = None

    def as_json(self) -> list[str | None]:
        """Return it for a column of JSON."""
        return [self.text, None if self.number is None else str(self.number)]

    @classmethod
    def of_json(cls, kept: Any) -> Self | None:
        """Return what was kept."""
        if kept is None:
            return None
        text, number = kept
        return cls(text, None if number is None else Decimal(number))


ValueTrail = list[tuple[int, SeenValue]]
"""Values of the past, each with the moment until which it stood, oldest first."""


@dataclass(slots=True)
class FieldMemory:
    """One field of one row."""

    at: int
    now: SeenValue
    before: SeenValue | None = None
    """The value before, if any is known."""
    high: SeenValue | None = None
    """The highest of all before the present one."""
    low: SeenValue | None = None
    past: ValueTrail = field(default_factory=list)
    highs: ValueTrail = field(default_factory=list)
    """Of the past, those after which nothing was as high."""
    lows: ValueTrail = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it for a column of JSON."""
        singles = {"now": self.now, "before": self.before, "high": self.high, "low": self.low}
        trails = {"past": self.past, "highs": self.highs, "lows": self.lows}
        return (
            {"at": self.at}
            | {name: seen.as_json() for name, seen in singles.items() if seen is not None}
            | {name: [[until, *seen.as_json()] for until, seen in trail] for name, trail in trails.items() if trail}
        )

    @classmethod
    def of_json(cls, kept: dict[str, Any]) -> Self:
        """Return what was kept."""
        now = SeenValue.of_json(kept["now"])
        assert now is not None, "there is always a present value"
        before, high, low = (SeenValue.of_json(kept.get(name)) for name in ("before", "high", "low"))
        past, highs, lows = (_trail(kept, name) for name in ("past", "highs", "lows"))
        return cls(kept["at"], now, before, high, low, past, highs, lows)


@dataclass(slots=True)
class WatchMemory:
    """Of one alert, for one row or for all of them together."""

    since: int
    """When it began to be watched."""
    clock: int = 0
    """Up to when it was judged."""
    event_at: int | None = None
    """When something happened last."""
    armed: bool = True
    """Whether it may fire: it fired and was not false since, otherwise."""
    true_since: int | None = None
    fired_at: int | None = None
    rows: dict[str, dict[str, FieldMemory]] = field(default_factory=dict)
    """What is known of each field of each row."""

    def as_json(self) -> dict[str, Any]:
        """Return it for a column of JSON."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        rows = {row: {key: one.as_json() for key, one in known.items()} for row, known in self.rows.items()}
        return {name: value for name, value in plain.items() if value is not None} | {"rows": rows}

    @classmethod
    def of_json(cls, kept: dict[str, Any]) -> Self:
        """Return what was kept."""
        plain = {name: kept[name] for name in _PLAIN if name in kept}
        rows = {
            row: {key: FieldMemory.of_json(one) for key, one in known.items()} for row, known in kept["rows"].items()
        }
        return cls(**plain, rows=rows)


_PLAIN = ("since", "clock", "event_at", "armed", "true_since", "fired_at")


def _trail(kept: dict[str, Any], name: str) -> ValueTrail:
    trail = []
    for until, *value in kept.get(name, ()):
        seen = SeenValue.of_json(value)
        assert seen is not None
        trail.append((until, seen))
    return trail
