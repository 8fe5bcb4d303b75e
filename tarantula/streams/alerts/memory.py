"""State of an alert between events, stored as JSON: only the past values that its condition needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, Self

from tarantula.streams.alerts.condition import AlertCondition, ChangeCondition, RecordCondition, leaf_conditions

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


MICROSECONDS_PER_SECOND = 1_000_000


@dataclass(slots=True)
class HistoryNeed:
    """What of the past of a field a condition looks at: windows in microseconds, the longest of several."""

    past: int = 0
    highs: int = 0
    lows: int = 0
    high: bool = False
    low: bool = False


def history_needs(condition: AlertCondition) -> dict[str, HistoryNeed]:
    """Return what has to be remembered, by field."""
    found = dict[str, HistoryNeed]()
    for leaf in leaf_conditions(condition):
        if leaf.field is None:
            continue
        need = found.setdefault(leaf.field, HistoryNeed())
        window = getattr(leaf, "within", None) or 0
        if isinstance(leaf, ChangeCondition):
            need.past = max(need.past, window * MICROSECONDS_PER_SECOND)
        elif isinstance(leaf, RecordCondition):
            _need_record(need, leaf.high, window * MICROSECONDS_PER_SECOND)
    return found


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
    """Return what is known of a field when it has a new value."""
    if known is None:
        return FieldMemory(at, seen)
    left = known.now
    known.at, known.now, known.before = at, seen, left
    if need.high:
        known.high = _further(known.high, left, lambda one, other: one > other)
    if need.low:
        known.low = _further(known.low, left, lambda one, other: one < other)
    if need.past:
        known.past = _shortened(_recent([*known.past, (at, left)], at - need.past))
    if need.highs:
        known.highs = _steps(known.highs, at, left, need.highs, lambda one, other: one > other)
    if need.lows:
        known.lows = _steps(known.lows, at, left, need.lows, lambda one, other: one < other)
    return known


ExtremeTest = Callable[[Decimal, Decimal], bool]


def _further(best: SeenValue | None, left: SeenValue, beats: ExtremeTest) -> SeenValue | None:
    if left.number is None:
        return best
    return left if best is None or best.number is None or beats(left.number, best.number) else best


def _recent(trail: ValueTrail, begin: int) -> ValueTrail:
    """Leave out what had ended when the window began."""
    return [(until, seen) for until, seen in trail if until > begin]


def _steps(trail: ValueTrail, at: int, left: SeenValue, window: int, beats: ExtremeTest) -> ValueTrail:
    """Keep of the past what nothing later outdoes: the first of what is left is the record of any window."""
    if left.number is None:
        return trail
    kept = [(until, seen) for until, seen in trail if seen.number is not None and beats(seen.number, left.number)]
    recent = _recent([*kept, (at, left)], at - window)
    if len(recent) > MAX_TRAIL_VALUES:
        # The older of two neighbours counts as long as both: a record is missed rather than made up.
        recent = [(recent[index + 1][0], seen) for index, (_, seen) in enumerate(recent[:-1]) if index % 2 == 0]
        recent.append((at, left))
    return recent


def _shortened(trail: ValueTrail) -> ValueTrail:
    return trail if len(trail) <= MAX_TRAIL_VALUES else [*trail[:-1:2], trail[-1]]
