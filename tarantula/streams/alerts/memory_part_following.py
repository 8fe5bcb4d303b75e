"""Takes a new value into what is remembered of a field: only what the condition needs of its past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from tarantula.streams.alerts.condition import Changed, Condition, Record, leaves
from tarantula.streams.alerts.memory import MOST_KEPT, Followed, Seen, Trail

MICROSECONDS = 1_000_000


@dataclass(slots=True)
class Need:
    """What of the past of a field a condition looks at: windows in microseconds, the longest of several."""

    past: int = 0
    highs: int = 0
    lows: int = 0
    high: bool = False
    low: bool = False


def needs(condition: Condition) -> dict[str, Need]:
    """Return what has to be remembered, by field."""
    found = dict[str, Need]()
    for leaf in leaves(condition):
        if leaf.field is None:
            continue
        need = found.setdefault(leaf.field, Need())
        window = getattr(leaf, "within", None) or 0
        if isinstance(leaf, Changed):
            need.past = max(need.past, window * MICROSECONDS)
        elif isinstance(leaf, Record):
            _need_record(need, leaf.high, window * MICROSECONDS)
    return found


def _need_record(need: Need, high: bool, window: int) -> None:
    if window and high:
        need.highs = max(need.highs, window)
    elif window:
        need.lows = max(need.lows, window)
    elif high:
        need.high = True
    else:
        need.low = True


def follow(known: Followed | None, at: int, seen: Seen, need: Need) -> Followed:
    """Return what is known of a field when it has a new value."""
    if known is None:
        return Followed(at, seen)
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


Beats = Callable[[Decimal, Decimal], bool]


def _further(best: Seen | None, left: Seen, beats: Beats) -> Seen | None:
    if left.number is None:
        return best
    return left if best is None or best.number is None or beats(left.number, best.number) else best


def _recent(trail: Trail, begin: int) -> Trail:
    """Leave out what had ended when the window began."""
    return [(until, seen) for until, seen in trail if until > begin]


def _steps(trail: Trail, at: int, left: Seen, window: int, beats: Beats) -> Trail:
    """Keep of the past what nothing later outdoes: the first of what is left is the record of any window."""
    if left.number is None:
        return trail
    kept = [(until, seen) for until, seen in trail if seen.number is not None and beats(seen.number, left.number)]
    recent = _recent([*kept, (at, left)], at - window)
    if len(recent) > MOST_KEPT:
        # The older of two neighbours counts as long as both: a record is missed rather than made up.
        recent = [(recent[index + 1][0], seen) for index, (_, seen) in enumerate(recent[:-1]) if index % 2 == 0]
        recent.append((at, left))
    return recent


def _shortened(trail: Trail) -> Trail:
    return trail if len(trail) <= MOST_KEPT else [*trail[:-1:2], trail[-1]]
