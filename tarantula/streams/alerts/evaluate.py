"""Evaluate a condition: true, false, or unknown while a value that it needs is unknown.

The state of an alert between events is stored as JSON: only the past values that its condition needs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, Self

from tarantula.streams.alerts.condition import (
    AlertCondition,
    AlertRule,
    AllCondition,
    AnyCondition,
    ChangeCondition,
    ChangeDirection,
    CompareCondition,
    ComparisonSign,
    NotCondition,
    RecordCondition,
    SilenceCondition,
    is_momentary,
    leaf_conditions,
)
from tarantula.streams.history.levels import SECOND
from tarantula.streams.texts import PatternTimeout, fold_text, search_pattern

MAX_TRAIL_VALUES = 500
"""Maximum number of values of a window; beyond that neighbours are merged."""
_PLAIN = ("since", "clock", "event_at", "armed", "true_since", "fired_at")
TruthValue = bool | None
RowField = tuple[str, str]
"""Row name and field key."""


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


TypedLiterals = Mapping[tuple[str, str], SeenValue]
"""Literals as values, by field and text."""

ORDER_OPERATORS = {
    ComparisonSign.LESS: operator.lt,
    ComparisonSign.AT_MOST: operator.le,
    ComparisonSign.MORE: operator.gt,
    ComparisonSign.AT_LEAST: operator.ge,
}
ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """State of an alert at the moment of evaluation."""

    memory: WatchMemory
    at: int
    literals: TypedLiterals
    fresh: frozenset[RowField] = frozenset()
    """Fields with an event at this moment."""
    uncertain: frozenset[RowField] = field(default=frozenset())
    """Fields whose first value counts as unknown."""
    margin: Decimal = ZERO
    """Hysteresis: how far a number must come back before a condition counts as false."""
    by_time: bool = False
    """Whether only time has passed since the last evaluation: then the lack of changes proves nothing."""

    def field_memory(self, row: str, key: str) -> FieldMemory | None:
        return self.memory.rows.get(row, {}).get(key)

    def literal(self, key: str, text: str) -> SeenValue:
        """Return a literal as a value of the field; as plain text if it was not parsed."""
        return self.literals.get((key, text)) or SeenValue(text)


def evaluate_rule(rule: AlertRule, context: EvaluationContext) -> TruthValue:
    """Return whether a rule is true for at least one row."""
    return any_true(evaluate_row(rule.when, row, context) for row in context.memory.rows or ("",))


def evaluate_row(
    condition: AlertCondition, row: str, context: EvaluationContext, backwards: bool = False
) -> TruthValue:
    """Evaluate a condition for a row; *backwards* inside a ``not``, where the margin applies in the other direction."""
    if isinstance(condition, NotCondition):
        return negate(evaluate_row(condition.of, row, context, not backwards))
    if isinstance(condition, AllCondition):
        return all_true(evaluate_row(part, row, context, backwards) for part in condition.of)
    if isinstance(condition, AnyCondition):
        return any_true(evaluate_row(part, row, context, backwards) for part in condition.of)
    if isinstance(condition, SilenceCondition):
        return _silent(condition, row, context)
    known = context.field_memory(row, condition.field)
    if known is None or (row, condition.field) in context.uncertain:
        return None
    if isinstance(condition, CompareCondition):
        margin = -context.margin if backwards else context.margin
        return compare_values(known.now, condition.sign, context.literal(condition.field, condition.value), margin)
    if context.by_time and backwards and is_momentary(condition):
        return None
    is_fresh = (row, condition.field) in context.fresh
    return (
        _record(condition, known, context, is_fresh)
        if isinstance(condition, RecordCondition)
        else _changed(condition, known, context, is_fresh)
    )


def negate(one: TruthValue) -> TruthValue:
    """Negate a truth value; unknown stays unknown."""
    return None if one is None else not one


def all_true(parts: Iterable[TruthValue]) -> TruthValue:
    """Return whether all parts are true; one false part decides even if others are unknown."""
    found = list(parts)
    return False if False in found else None if None in found else True


def any_true(parts: Iterable[TruthValue]) -> TruthValue:
    """Return whether any part is true; one true part decides even if others are unknown."""
    found = list(parts)
    return True if True in found else None if None in found else False


def compare_values(seen: SeenValue, sign: ComparisonSign, written: SeenValue, margin: Decimal = ZERO) -> TruthValue:
    """Compare a value with a literal; ``None`` if they are not comparable."""
    if sign in (ComparisonSign.CONTAINS, ComparisonSign.LACKS):
        return (fold_text(written.text) in fold_text(seen.text)) == (sign == ComparisonSign.CONTAINS)
    if sign == ComparisonSign.MATCHES:
        return _matches(written.text, seen.text)
    if seen.number is None or written.number is None:
        is_same = fold_text(seen.text) == fold_text(written.text)
        return {ComparisonSign.EQUAL: is_same, ComparisonSign.OTHER: not is_same}.get(sign)
    if sign == ComparisonSign.EQUAL:
        return abs(seen.number - written.number) <= max(margin, ZERO)
    if sign == ComparisonSign.OTHER:
        return abs(seen.number - written.number) > max(-margin, ZERO)
    slack = margin if sign in (ComparisonSign.LESS, ComparisonSign.AT_MOST) else -margin
    return bool(ORDER_OPERATORS[sign](seen.number, written.number + slack))


def _matches(pattern: str, text: str) -> TruthValue:
    try:
        return search_pattern(pattern, text) is not None
    except PatternTimeout:
        return None


def change_base(condition: ChangeCondition, known: FieldMemory, at: int) -> SeenValue | None:
    """Return the value that a change is measured from: the previous one, or the one at the start of the window."""
    if condition.within is None:
        return known.before
    begin = at - condition.within * SECOND
    standing = next((seen for until, seen in known.past if until > begin), None)
    return standing or (known.now if known.before is not None else None)


def record_to_beat(condition: RecordCondition, known: FieldMemory, at: int) -> SeenValue | None:
    """Return the record that a value must beat."""
    if condition.within is None:
        return known.high if condition.high else known.low
    begin = at - condition.within * SECOND
    trail = known.highs if condition.high else known.lows
    return next((seen for until, seen in trail if until > begin), None)


def _changed(condition: ChangeCondition, known: FieldMemory, context: EvaluationContext, is_fresh: bool) -> TruthValue:
    if known.before is None:
        return None
    if condition.within is None and not is_fresh:
        return False
    base = change_base(condition, known, context.at)
    return None if base is None else _has_moved(condition, base, known.now, context)


def _has_moved(condition: ChangeCondition, base: SeenValue, now: SeenValue, context: EvaluationContext) -> TruthValue:
    if base.number is None or now.number is None:
        is_plain = condition.way == ChangeDirection.EITHER and not condition.amount and not condition.percent
        return base.text != now.text if is_plain else None
    moved = now.number - base.number
    moved = {ChangeDirection.UP: moved, ChangeDirection.DOWN: -moved, ChangeDirection.EITHER: abs(moved)}[condition.way]
    if condition.percent:
        return moved > 0 and moved * 100 >= Decimal(condition.percent) * abs(base.number)
    if condition.amount:
        least = context.literal(condition.field, f"by {condition.amount}").number
        return None if least is None else moved > 0 and moved >= least
    return moved > 0


def _record(condition: RecordCondition, known: FieldMemory, context: EvaluationContext, is_fresh: bool) -> TruthValue:
    if known.before is None or known.now.number is None:
        return None
    if not is_fresh:
        return False
    best = record_to_beat(condition, known, context.at)
    if best is None or best.number is None:
        return None
    return known.now.number > best.number if condition.high else known.now.number < best.number


def _silent(condition: SilenceCondition, row: str, context: EvaluationContext) -> TruthValue:
    return context.at >= silence_complete_at(condition, row, context.memory)


def silence_complete_at(condition: SilenceCondition, row: str, memory: WatchMemory) -> int:
    """Return when a silence will be complete if no event arrives, in microseconds since 1970."""
    heard = memory.event_at
    if condition.field is not None:
        known = memory.rows.get(row, {}).get(condition.field)
        heard = known.at if known else None
    return max(heard or 0, memory.since if heard is None else 0) + condition.seconds * SECOND
