"""Many values as one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """What the values of a window come to; numbers are missing where there are none."""

    count: int = 0
    sum: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    first: float | None = None
    last: float | None = None

    @property
    def mean(self) -> float | None:
        """The arithmetic mean."""
        return self.sum / self.count if self.count and self.sum is not None else None

    @property
    def change(self) -> float | None:
        """From the first to the last."""
        return self.last - self.first if self.last is not None and self.first is not None else None

    def with_later(self, other: WindowSummary) -> WindowSummary:
        """Return what these values and those of *other*, which came later, come to together."""
        return WindowSummary(
            self.count + other.count,
            _of(operator.add, self.sum, other.sum),
            _of(min, self.minimum, other.minimum),
            _of(max, self.maximum, other.maximum),
            other.first if self.first is None else self.first,
            self.last if other.last is None else other.last,
        )


def _of(work: Callable[[float, float], float], one: float | None, two: float | None) -> float | None:
    if one is None or two is None:
        return two if one is None else one
    return work(one, two)
