"""Reference model of alerts: evaluates the condition every second from all values so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tarantula.streams.alerts.condition import (
    AlertCondition,
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

CONTRARY = {">": "≤", "≤": ">", "<": "≥", "≥": "<", "=": "≠", "≠": "="}
Truth = bool | None
Story = Sequence[tuple[int, Mapping[str, int]]]
"""Seconds, and the values that arrive at them."""


@dataclass
class Model:
    """State of one condition on one row."""

    condition: AlertCondition
    margin: int = 0
    hold: int = 0
    pause: int = 0
    at_first: bool = False
    armed: bool = True
    true_since: int | None = None
    fired_at: int | None = None
    came: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def fires(self, story: Story, end: int) -> Iterator[int]:
        """Yield the seconds at which the alert fires."""
        by_second = dict(story)
        if self.judged(0, frozenset(), frozenset()) and self.at_first:
            yield 0
        self.fired_at = self.fired_at if self.at_first else None
        for second in range(end + 1):
            if self.judged(second, frozenset(), frozenset()):
                yield second
            if second in by_second:
                values = by_second[second]
                first = frozenset(key for key in values if key not in self.came)
                for key, value in values.items():
                    self.came.setdefault(key, []).append((second, value))
                if self.judged(second, frozenset(values), first):
                    yield second

    def judged(self, second: int, fresh: frozenset[str], first: frozenset[str]) -> bool:
        """Return whether the alert fires now."""
        true = self.truth(self.condition, True, second, fresh, frozenset())
        if true is None:
            return False
        if true is False:
            self.armed, self.true_since = True, None
            return False
        if self.true_since is None:
            self.true_since = second
        if not self.armed:
            return False
        sure = self.truth(self.condition, True, second, fresh, first)
        if first and sure is not True and not self.at_first:
            self.armed = False
            return False
        waits = second < self.true_since + self.hold
        pauses = self.fired_at is not None and second < self.fired_at + self.pause
        if waits or pauses:
            return False
        self.armed, self.fired_at = False, second
        return True

    def truth(
        self, part: AlertCondition, wanted: bool, now: int, fresh: frozenset[str], hidden: frozenset[str]
    ) -> Truth:
        """Return whether a part of the condition equals *wanted*; ``not`` is pushed down to the comparisons."""
        if isinstance(part, NotCondition):
            return self.truth(part.of, not wanted, now, fresh, hidden)
        if isinstance(part, AllCondition | AnyCondition):
            found = [self.truth(one, wanted, now, fresh, hidden) for one in part.of]
            decides = isinstance(part, AnyCondition) == wanted
            if any(one is decides for one in found):
                return decides
            return None if None in found else not decides
        if isinstance(part, CompareCondition):
            return self.compared(part, wanted, hidden)
        found_one = self.other(part, now, fresh, hidden)
        if not wanted and not fresh and is_momentary(part):
            # The absence of a change is no event while only time passes.
            return None
        return None if found_one is None else found_one == wanted

    def compared(self, part: CompareCondition, wanted: bool, hidden: frozenset[str]) -> Truth:
        if part.field in hidden or part.field not in self.came:
            return None
        value, limit = self.came[part.field][-1][1], int(part.value)
        sign = str(part.sign) if wanted else CONTRARY[str(part.sign)]
        slack = 0 if self.armed else self.margin
        return {
            ">": value > limit - slack,
            "≥": value >= limit - slack,
            "<": value < limit + slack,
            "≤": value <= limit + slack,
            "=": limit - slack <= value <= limit + slack,
            "≠": value != limit,
        }[sign]

    def other(
        self,
        part: ChangeCondition | RecordCondition | SilenceCondition,
        now: int,
        fresh: frozenset[str],
        hidden: frozenset[str],
    ) -> Truth:
        if isinstance(part, SilenceCondition):
            times = [at for key, some in self.came.items() for at, _ in some if part.field in (None, key)]
            return now - max(times, default=0) >= part.seconds
        known = self.came.get(part.field, [])
        if part.field in hidden or len(known) < 2:
            return None
        values = [value for _, value in known]
        if isinstance(part, RecordCondition):
            if part.field not in fresh:
                return False
            others = values[:-1] if part.within is None else self.stood(part.field, now - part.within)[:-1]
            return values[-1] > max(others) if part.high else values[-1] < min(others)
        if part.within is None:
            return part.field in fresh and moved(part, values[-2], values[-1])
        return moved(part, self.stood(part.field, now - part.within)[0], values[-1])

    def stood(self, key: str, since: int) -> list[int]:
        """Return the values that stood at some time after a moment, the present one last."""
        known = self.came[key]
        ends = [at for at, _ in known[1:]] + [None]
        return [value for (_, value), end in zip(known, ends, strict=True) if end is None or end > since]


def moved(part: ChangeCondition, base: int, value: int) -> bool:
    step = {
        ChangeDirection.UP: value - base,
        ChangeDirection.DOWN: base - value,
        ChangeDirection.EITHER: abs(value - base),
    }[part.way]
    if part.percent:
        return step > 0 and step * 100 >= int(part.percent) * abs(base)
    return step >= int(part.amount) if part.amount else step > 0


SIGNS = [
    ComparisonSign.EQUAL,
    ComparisonSign.OTHER,
    ComparisonSign.LESS,
    ComparisonSign.AT_MOST,
    ComparisonSign.MORE,
    ComparisonSign.AT_LEAST,
]
