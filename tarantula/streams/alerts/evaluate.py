"""Whether a condition is true, false, or neither, as long as it is not known what it looks at."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from tarantula.streams.alerts.condition import (
    All,
    Changed,
    Compare,
    Condition,
    Either,
    Not,
    Record,
    Rule,
    Sign,
    Silent,
    Way,
    is_momentary,
)
from tarantula.streams.alerts.memory import Followed, Memory, Seen
from tarantula.streams.alerts.memory_part_following import MICROSECONDS
from tarantula.streams.texts_part_patterns import GivenUp, found_by
from tarantula.streams.texts_part_words import folded

Truth = bool | None
Place = tuple[str, str]
"""A row and a field."""
Meanings = Mapping[tuple[str, str], Seen]
"""What somebody wrote of a field, as a value of that field."""

ORDERS = {Sign.LESS: operator.lt, Sign.AT_MOST: operator.le, Sign.MORE: operator.gt, Sign.AT_LEAST: operator.ge}
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to be looked at, at one moment."""

    memory: Memory
    at: int
    meanings: Meanings
    fresh: frozenset[Place] = frozenset()
    """What came at this very moment."""
    unsure: frozenset[Place] = field(default=frozenset())
    """First values that are to count as not known."""
    margin: Decimal = NOTHING
    """How far a number has to come back before it counts as back."""
    by_time: bool = False
    """Whether nothing came, and only time has passed: that nothing changes meanwhile is no news."""

    def followed(self, row: str, key: str) -> Followed | None:
        """Return what is known of a field."""
        return self.memory.rows.get(row, {}).get(key)

    def meaning(self, key: str, text: str) -> Seen:
        """Return what was written, as a value of the field; as a text if it is none."""
        return self.meanings.get((key, text)) or Seen(text)


def truth(rule: Rule, look: Look) -> Truth:
    """Say whether a rule is true of one of the rows that are looked at."""
    return some(of_row(rule.when, row, look) for row in look.memory.rows or ("",))


def of_row(condition: Condition, row: str, look: Look, backwards: bool = False) -> Truth:
    """Say whether a condition is true of a row; *backwards* within a ``not``, where margins go the other way."""
    if isinstance(condition, Not):
        return contrary(of_row(condition.of, row, look, not backwards))
    if isinstance(condition, All):
        return every(of_row(part, row, look, backwards) for part in condition.of)
    if isinstance(condition, Either):
        return some(of_row(part, row, look, backwards) for part in condition.of)
    if isinstance(condition, Silent):
        return _silent(condition, row, look)
    known = look.followed(row, condition.field)
    if known is None or (row, condition.field) in look.unsure:
        return None
    if isinstance(condition, Compare):
        margin = -look.margin if backwards else look.margin
        return compared(known.now, condition.sign, look.meaning(condition.field, condition.value), margin)
    if look.by_time and backwards and is_momentary(condition):
        return None
    is_fresh = (row, condition.field) in look.fresh
    return (
        _record(condition, known, look, is_fresh)
        if isinstance(condition, Record)
        else _changed(condition, known, look, is_fresh)
    )


def contrary(one: Truth) -> Truth:
    """Say the contrary; of what is not known nothing is."""
    return None if one is None else not one


def every(parts: Iterable[Truth]) -> Truth:
    """Say whether all are true: one that is false decides, whatever is not known."""
    found = list(parts)
    return False if False in found else None if None in found else True


def some(parts: Iterable[Truth]) -> Truth:
    """Say whether one is true: one that is decides, whatever is not known."""
    found = list(parts)
    return True if True in found else None if None in found else False


def compared(seen: Seen, sign: Sign, written: Seen, margin: Decimal = NOTHING) -> Truth:
    """Hold a value against one that was written."""
    if sign in (Sign.CONTAINS, Sign.LACKS):
        return (folded(written.text) in folded(seen.text)) == (sign == Sign.CONTAINS)
    if sign == Sign.MATCHES:
        return _matches(written.text, seen.text)
    if seen.number is None or written.number is None:
        is_same = folded(seen.text) == folded(written.text)
        return {Sign.EQUAL: is_same, Sign.OTHER: not is_same}.get(sign)
    if sign == Sign.EQUAL:
        return abs(seen.number - written.number) <= max(margin, NOTHING)
    if sign == Sign.OTHER:
        return abs(seen.number - written.number) > max(-margin, NOTHING)
    slack = margin if sign in (Sign.LESS, Sign.AT_MOST) else -margin
    return bool(ORDERS[sign](seen.number, written.number + slack))


def _matches(pattern: str, text: str) -> Truth:
    try:
        return found_by(pattern, text) is not None
    except GivenUp:
        return None


def base_of(condition: Changed, known: Followed, at: int) -> Seen | None:
    """Return the value that a change is counted from: the one before, or the one that stood some time ago."""
    if condition.within is None:
        return known.before
    begin = at - condition.within * MICROSECONDS
    standing = next((seen for until, seen in known.past if until > begin), None)
    return standing or (known.now if known.before is not None else None)


def best_of(condition: Record, known: Followed, at: int) -> Seen | None:
    """Return the record that is to be broken."""
    if condition.within is None:
        return known.high if condition.high else known.low
    begin = at - condition.within * MICROSECONDS
    trail = known.highs if condition.high else known.lows
    return next((seen for until, seen in trail if until > begin), None)


def _changed(condition: Changed, known: Followed, look: Look, is_fresh: bool) -> Truth:
    if known.before is None:
        return None
    if condition.within is None and not is_fresh:
        return False
    base = base_of(condition, known, look.at)
    return None if base is None else _has_moved(condition, base, known.now, look)


def _has_moved(condition: Changed, base: Seen, now: Seen, look: Look) -> Truth:
    if base.number is None or now.number is None:
        is_plain = condition.way == Way.EITHER and not condition.amount and not condition.percent
        return base.text != now.text if is_plain else None
    moved = now.number - base.number
    moved = {Way.UP: moved, Way.DOWN: -moved, Way.EITHER: abs(moved)}[condition.way]
    if condition.percent:
        return moved > 0 and moved * 100 >= Decimal(condition.percent) * abs(base.number)
    if condition.amount:
        least = look.meaning(condition.field, f"by {condition.amount}").number
        return None if least is None else moved > 0 and moved >= least
    return moved > 0


def _record(condition: Record, known: Followed, look: Look, is_fresh: bool) -> Truth:
    if known.before is None or known.now.number is None:
        return None
    if not is_fresh:
        return False
    best = best_of(condition, known, look.at)
    if best is None or best.number is None:
        return None
    return known.now.number > best.number if condition.high else known.now.number < best.number


def _silent(condition: Silent, row: str, look: Look) -> Truth:
    return look.at >= silent_from(condition, row, look.memory)


def silent_from(condition: Silent, row: str, memory: Memory) -> int:
    """Return when a silence is as long as is asked for, if nothing comes."""
    heard = memory.event_at
    if condition.field is not None:
        known = memory.rows.get(row, {}).get(condition.field)
        heard = known.at if known else None
    return max(heard or 0, memory.since if heard is None else 0) + condition.seconds * MICROSECONDS
