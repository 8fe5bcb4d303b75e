"""The range in which the values of a series usually are, and whether one is far outside it.

A value that is far outside may be another figure of the page, or one whose decimal point was
misunderstood. It is put aside, and believed when it stays: when `CONFIRMED` readings in a row say
much the same, or when a person says so.
"""

from __future__ import annotations

from tarantula.streams.kinds import Kind

KINDS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.PERCENTAGE, Kind.MONEY, Kind.QUANTITY})
"""Of which there is a usual range: dates go on for ever."""
ENOUGH = 5
"""Readings before anything is known of what is usual."""
FAR = 4.0
"""How many times its own width a range is left before a value is far outside."""
SHRINKING = 50.0
"""How many readings it takes, about, until a range forgets a value that was never seen again."""
CONFIRMED = 3
"""Readings in a row that make a value far outside one to be believed."""

Range = list[float]
"""How many readings (up to `ENOUGH`), the least, the most."""
Run = list[float]
"""The first of some readings far outside, and how many there were in a row."""


def is_far(number: float, usual: Range | None) -> bool:
    """Whether a value is far outside what is usual."""
    if usual is None or usual[0] < ENOUGH:
        return False
    _, low, high = usual
    width = max(high - low, max(abs(low), abs(high)) / 2)
    # Of what has always been nothing, nobody knows how large it gets.
    return width > 0 and not low - FAR * width <= number <= high + FAR * width


def learnt(number: float, usual: Range | None) -> Range:
    """Return the range with one value more."""
    if usual is None:
        return [1, number, number]
    count, low, high = usual
    return [
        min(count + 1, ENOUGH),
        min(number, low + (number - low) / SHRINKING),
        max(number, high - (high - number) / SHRINKING),
    ]


def confirming(number: float, run: Run | None) -> Run:
    """Return how many readings in a row say much the same, with this one."""
    if run is not None and abs(number - run[0]) <= abs(run[0]) / 2:
        return [run[0], run[1] + 1]
    return [number, 1]


def sentence(number: float, usual: Range) -> str:
    """Say why a value is doubted."""
    return f"{number:g} is far outside what is usual here, {usual[1]:g} to {usual[2]:g}."
