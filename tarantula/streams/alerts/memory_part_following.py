"""Takes a new value into what is remembered of a field: only what the condition needs of its past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from tarantula.streams.alerts.condition import AlertCondition, ChangeCondition, RecordCondition, leaf_conditions
from tarantula.streams.alerts.memory import MAX_TRAIL_VALUES, FieldMemory, SeenValue, ValueTrail

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
