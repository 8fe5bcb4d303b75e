"""The range in which the values of a series usually are, and whether one is far outside it.

A value that is far outside may be another figure of the page, or one whose decimal point was
misunderstood. It is put aside, and believed when it stays: when `CONFIRMED` readings in a row say
much the same, or when a person says so.
"""

from __future__ import annotations

from tarantula.streams.kinds import ValueKind

RANGED_KINDS = frozenset(
    {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENTAGE, ValueKind.MONEY, ValueKind.QUANTITY}
)
"""Of which there is a usual range: dates go on for ever."""
MIN_RANGE_READINGS = 5
"""Readings before anything is known of what is usual."""
OUTLIER_WIDTHS = 4.0
"""How many times its own width a range is left before a value is far outside."""
RANGE_DECAY_READINGS = 50.0
"""How many readings it takes, about, until a range forgets a value that was never seen again."""
CONFIRMING_READINGS = 3
"""Readings in a row that make a value far outside one to be believed."""

UsualRange = list[float]
"""How many readings (up to `ENOUGH`), the least, the most."""
OutlierRun = list[float]
"""The first of some readings far outside, and how many there were in a row."""


def is_outlier(number: float, usual: UsualRange | None) -> bool:
    """Whether a value is far outside what is usual."""
    if usual is None or usual[0] < MIN_RANGE_READINGS:
        return False
    _, low, high = usual
    width = max(high - low, max(abs(low), abs(high)) / 2)
    # Of what has always been nothing, nobody knows how large it gets.
    return width > 0 and not low - OUTLIER_WIDTHS * width <= number <= high + OUTLIER_WIDTHS * width


def extended_range(number: float, usual: UsualRange | None) -> UsualRange:
    """Return the range with one value more."""
    if usual is None:
        return [1, number, number]
    count, low, high = usual
    return [
        min(count + 1, MIN_RANGE_READINGS),
        min(number, low + (number - low) / RANGE_DECAY_READINGS),
        max(number, high - (high - number) / RANGE_DECAY_READINGS),
    ]


def extended_run(number: float, run: OutlierRun | None) -> OutlierRun:
    """Return how many readings in a row say much the same, with this one."""
    if run is not None and abs(number - run[0]) <= abs(run[0]) / 2:
        return [run[0], run[1] + 1]
    return [number, 1]


def outlier_sentence(number: float, usual: UsualRange) -> str:
    """Say why a value is doubted."""
    return f"{number:g} is far outside what is usual here, {usual[1]:g} to {usual[2]:g}."
