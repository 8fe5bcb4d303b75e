"""Evaluate a condition: true, false, or unknown while a value that it needs is unknown."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

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
)
from tarantula.streams.alerts.memory import FieldMemory, SeenValue, WatchMemory
from tarantula.streams.history.buckets import SECOND
from tarantula.streams.texts import PatternTimeout, fold_text, search_pattern

TruthValue = bool | None
RowField = tuple[str, str]
"""Row name and field key."""
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
