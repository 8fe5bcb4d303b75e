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
from tarantula.streams.alerts.memory import MICROSECONDS_PER_SECOND, FieldMemory, SeenValue, WatchMemory
from tarantula.streams.texts import PatternTimeout, fold_text, search_pattern

TruthValue = bool | None
RowField = tuple[str, str]
"""A row and a field."""
TypedLiterals = Mapping[tuple[str, str], SeenValue]
"""What somebody wrote of a field, as a value of that field."""

ORDER_OPERATORS = {
    ComparisonSign.LESS: operator.lt,
    ComparisonSign.AT_MOST: operator.le,
    ComparisonSign.MORE: operator.gt,
    ComparisonSign.AT_LEAST: operator.ge,
}
ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What there is to be looked at, at one moment."""

    memory: WatchMemory
    at: int
    meanings: TypedLiterals
    fresh: frozenset[RowField] = frozenset()
    """What came at this very moment."""
    unsure: frozenset[RowField] = field(default=frozenset())
    """First values that are to count as not known."""
    margin: Decimal = ZERO
    """How far a number has to come back before it counts as back."""
    by_time: bool = False
    """Whether nothing came, and only time has passed: that nothing changes meanwhile is no news."""

    def followed(self, row: str, key: str) -> FieldMemory | None:
        """Return what is known of a field."""
        return self.memory.rows.get(row, {}).get(key)

    def meaning(self, key: str, text: str) -> SeenValue:
        """Return what was written, as a value of the field; as a text if it is none."""
        return self.meanings.get((key, text)) or SeenValue(text)


def evaluate_rule(rule: AlertRule, look: EvaluationContext) -> TruthValue:
    """Say whether a rule is true of one of the rows that are looked at."""
    return any_true(evaluate_row(rule.when, row, look) for row in look.memory.rows or ("",))


def evaluate_row(condition: AlertCondition, row: str, look: EvaluationContext, backwards: bool = False) -> TruthValue:
    """Say whether a condition is true of a row; *backwards* within a ``not``, where margins go the other way."""
    if isinstance(condition, NotCondition):
        return negate(evaluate_row(condition.of, row, look, not backwards))
    if isinstance(condition, AllCondition):
        return all_true(evaluate_row(part, row, look, backwards) for part in condition.of)
    if isinstance(condition, AnyCondition):
        return any_true(evaluate_row(part, row, look, backwards) for part in condition.of)
    if isinstance(condition, SilenceCondition):
        return _silent(condition, row, look)
    known = look.followed(row, condition.field)
    if known is None or (row, condition.field) in look.unsure:
        return None
    if isinstance(condition, CompareCondition):
        margin = -look.margin if backwards else look.margin
        return compare_values(known.now, condition.sign, look.meaning(condition.field, condition.value), margin)
    if look.by_time and backwards and is_momentary(condition):
        return None
    is_fresh = (row, condition.field) in look.fresh
    return (
        _record(condition, known, look, is_fresh)
        if isinstance(condition, RecordCondition)
        else _changed(condition, known, look, is_fresh)
    )


def negate(one: TruthValue) -> TruthValue:
    """Say the contrary; of what is not known nothing is."""
    return None if one is None else not one


def all_true(parts: Iterable[TruthValue]) -> TruthValue:
    """Say whether all are true: one that is false decides, whatever is not known."""
    found = list(parts)
    return False if False in found else None if None in found else True


def any_true(parts: Iterable[TruthValue]) -> TruthValue:
    """Say whether one is true: one that is decides, whatever is not known."""
    found = list(parts)
    return True if True in found else None if None in found else False


def compare_values(seen: SeenValue, sign: ComparisonSign, written: SeenValue, margin: Decimal = ZERO) -> TruthValue:
    """Hold a value against one that was written."""
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
    """Return the value that a change is counted from: the one before, or the one that stood some time ago."""
    if condition.within is None:
        return known.before
    begin = at - condition.within * MICROSECONDS_PER_SECOND
    standing = next((seen for until, seen in known.past if until > begin), None)
    return standing or (known.now if known.before is not None else None)


def record_to_beat(condition: RecordCondition, known: FieldMemory, at: int) -> SeenValue | None:
    """Return the record that is to be broken."""
    if condition.within is None:
        return known.high if condition.high else known.low
    begin = at - condition.within * MICROSECONDS_PER_SECOND
    trail = known.highs if condition.high else known.lows
    return next((seen for until, seen in trail if until > begin), None)


def _changed(condition: ChangeCondition, known: FieldMemory, look: EvaluationContext, is_fresh: bool) -> TruthValue:
    if known.before is None:
        return None
    if condition.within is None and not is_fresh:
        return False
    base = change_base(condition, known, look.at)
    return None if base is None else _has_moved(condition, base, known.now, look)


def _has_moved(condition: ChangeCondition, base: SeenValue, now: SeenValue, look: EvaluationContext) -> TruthValue:
    if base.number is None or now.number is None:
        is_plain = condition.way == ChangeDirection.EITHER and not condition.amount and not condition.percent
        return base.text != now.text if is_plain else None
    moved = now.number - base.number
    moved = {ChangeDirection.UP: moved, ChangeDirection.DOWN: -moved, ChangeDirection.EITHER: abs(moved)}[condition.way]
    if condition.percent:
        return moved > 0 and moved * 100 >= Decimal(condition.percent) * abs(base.number)
    if condition.amount:
        least = look.meaning(condition.field, f"by {condition.amount}").number
        return None if least is None else moved > 0 and moved >= least
    return moved > 0


def _record(condition: RecordCondition, known: FieldMemory, look: EvaluationContext, is_fresh: bool) -> TruthValue:
    if known.before is None or known.now.number is None:
        return None
    if not is_fresh:
        return False
    best = record_to_beat(condition, known, look.at)
    if best is None or best.number is None:
        return None
    return known.now.number > best.number if condition.high else known.now.number < best.number


def _silent(condition: SilenceCondition, row: str, look: EvaluationContext) -> TruthValue:
    return look.at >= silence_complete_at(condition, row, look.memory)


def silence_complete_at(condition: SilenceCondition, row: str, memory: WatchMemory) -> int:
    """Return when a silence is as long as is asked for, if nothing comes."""
    heard = memory.event_at
    if condition.field is not None:
        known = memory.rows.get(row, {}).get(condition.field)
        heard = known.at if known else None
    return max(heard or 0, memory.since if heard is None else 0) + condition.seconds * MICROSECONDS_PER_SECOND
