"""State of an alert between events, stored as JSON: only the past values that its condition needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, Self

from tarantula.streams.alerts.condition import AlertCondition, ChangeCondition, RecordCondition, leaf_conditions
from tarantula.streams.history.buckets import SECOND

MAX_TRAIL_VALUES = 500
"""Maximum number of values of a window; beyond that neighbours are merged."""
_PLAIN = ("since", "clock", "event_at", "armed", "true_since", "fired_at")
ExtremeTest = Callable[[Decimal, Decimal], bool]


class SeenValue(NamedTuple):
    """A stored value."""

    text: str
    number: Decimal | None = None

    def as_json(self) -> list[str | None]:
        return [self.text, None if self.number is None else str(self.number)]

    @classmethod
    def of_json(cls, stored: Any) -> Self | None:
        if stored is None:
            return None
        text, number = stored
        return cls(text, None if number is None else Decimal(number))


ValueTrail = list[tuple[int, SeenValue]]
"""Past values with the time until which each was valid, oldest first."""


@dataclass(slots=True)
class FieldMemory:
    """State of one field of one row."""

    at: int
    now: SeenValue
    before: SeenValue | None = None
    """Previous value, if known."""
    high: SeenValue | None = None
    """Highest value before the current one."""
    low: SeenValue | None = None
    past: ValueTrail = field(default_factory=list)
    highs: ValueTrail = field(default_factory=list)
    """Past values that no later one exceeds."""
    lows: ValueTrail = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        singles = {"now": self.now, "before": self.before, "high": self.high, "low": self.low}
        trails = {"past": self.past, "highs": self.highs, "lows": self.lows}
        return (
            {"at": self.at}
            | {name: seen.as_json() for name, seen in singles.items() if seen is not None}
            | {name: [[until, *seen.as_json()] for until, seen in trail] for name, trail in trails.items() if trail}
        )

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> Self:
        now = SeenValue.of_json(stored["now"])
        assert now is not None, "there is always a present value"
        before, high, low = (SeenValue.of_json(stored.get(name)) for name in ("before", "high", "low"))
        past, highs, lows = (_trail(stored, name) for name in ("past", "highs", "lows"))
        return cls(stored["at"], now, before, high, low, past, highs, lows)


@dataclass(slots=True)
class WatchMemory:
    """State of an alert, for one row or for all rows together; times in microseconds since 1970."""

    since: int
    """Time of activation."""
    clock: int = 0
    """Time of the last evaluation."""
    event_at: int | None = None
    """Time of the last event."""
    armed: bool = True
    """Whether it can fire; false after a firing until the condition was false."""
    true_since: int | None = None
    fired_at: int | None = None
    rows: dict[str, dict[str, FieldMemory]] = field(default_factory=dict)
    """State by row and field."""

    def as_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _PLAIN}
        rows = {row: {key: one.as_json() for key, one in known.items()} for row, known in self.rows.items()}
        return {name: value for name, value in plain.items() if value is not None} | {"rows": rows}

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> Self:
        plain = {name: stored[name] for name in _PLAIN if name in stored}
        rows = {
            row: {key: FieldMemory.of_json(one) for key, one in known.items()} for row, known in stored["rows"].items()
        }
        return cls(**plain, rows=rows)


def _trail(stored: dict[str, Any], name: str) -> ValueTrail:
    trail = []
    for until, *value in stored.get(name, ()):
        seen = SeenValue.of_json(value)
        assert seen is not None
        trail.append((until, seen))
    return trail


@dataclass(slots=True)
class HistoryNeed:
    """Windows of the past that a condition needs for a field, in microseconds."""

    past: int = 0
    highs: int = 0
    lows: int = 0
    high: bool = False
    low: bool = False


def history_needs(condition: AlertCondition) -> dict[str, HistoryNeed]:
    """Return the windows that a condition needs, by field."""
    needs = dict[str, HistoryNeed]()
    for leaf in leaf_conditions(condition):
        if leaf.field is None:
            continue
        need = needs.setdefault(leaf.field, HistoryNeed())
        window = getattr(leaf, "within", None) or 0
        if isinstance(leaf, ChangeCondition):
            need.past = max(need.past, window * SECOND)
        elif isinstance(leaf, RecordCondition):
            _need_record(need, leaf.high, window * SECOND)
    return needs


def _need_record(need: HistoryNeed, high: bool, window: int) -> None:
    if window and high:
        need.highs = max(need.highs, window)
    elif window:
        need.lows = max(need.lows, window)
    elif high:
        need.high = True
    else:
        need.low = True


def advance_field(known: FieldMemory | None, at: int, seen: SeenValue, need: HistoryNeed) -> FieldMemory:
    """Return the state of a field after a new value."""
    if known is None:
        return FieldMemory(at, seen)
    previous = known.now
    known.at, known.now, known.before = at, seen, previous
    if need.high:
        known.high = _further(known.high, previous, lambda one, other: one > other)
    if need.low:
        known.low = _further(known.low, previous, lambda one, other: one < other)
    if need.past:
        known.past = _shortened(_recent([*known.past, (at, previous)], at - need.past))
    if need.highs:
        known.highs = _steps(known.highs, at, previous, need.highs, lambda one, other: one > other)
    if need.lows:
        known.lows = _steps(known.lows, at, previous, need.lows, lambda one, other: one < other)
    return known


def _further(best: SeenValue | None, previous: SeenValue, beats: ExtremeTest) -> SeenValue | None:
    if previous.number is None:
        return best
    return previous if best is None or best.number is None or beats(previous.number, best.number) else best


def _recent(trail: ValueTrail, begin: int) -> ValueTrail:
    """Drop values that ended before the window."""
    return [(until, seen) for until, seen in trail if until > begin]


def _steps(trail: ValueTrail, at: int, previous: SeenValue, window: int, beats: ExtremeTest) -> ValueTrail:
    """Keep past values that no later one exceeds: the first within any window is its record."""
    if previous.number is None:
        return trail
    kept = [(until, seen) for until, seen in trail if seen.number is not None and beats(seen.number, previous.number)]
    recent = _recent([*kept, (at, previous)], at - window)
    if len(recent) > MAX_TRAIL_VALUES:
        # Merging extends the older of two neighbours: a record can be missed, but is never reported wrongly.
        recent = [(recent[index + 1][0], seen) for index, (_, seen) in enumerate(recent[:-1]) if index % 2 == 0]
        recent.append((at, previous))
    return recent


def _shortened(trail: ValueTrail) -> ValueTrail:
    return trail if len(trail) <= MAX_TRAIL_VALUES else [*trail[:-1:2], trail[-1]]
