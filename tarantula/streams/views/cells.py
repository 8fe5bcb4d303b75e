"""Columns, cells, records and tracks of a view, and the summary of a window."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tarantula.streams.kinds import ValueKind


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


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A part of a view, or what is worked out of parts."""

    letter: str
    title: str
    """The words of whoever described the source: anybody's."""
    kind: ValueKind
    unit: str = ""
    source: str = ""
    """Nothing for what is worked out."""


@dataclass(frozen=True, slots=True)
class ViewCell:
    """One value."""

    text: str
    """Exactly as it is kept."""
    number: float | None = None
    at: int | None = None
    """Microseconds since 1970: since when it is so."""


@dataclass(frozen=True, slots=True)
class ViewRecord:
    """Values that belong together: a row of a table as it is now, or what happened at a moment."""

    row: str
    cells: Mapping[str, ViewCell]
    """By the letters of their columns; what is missing is not there."""
    at: int | None = None
    """Microseconds since 1970, of what happened."""


@dataclass(frozen=True, slots=True)
class TrackPoint:
    """The values of a stretch of time."""

    at: int
    value: float
    """The one that stands for all of them."""
    summary: WindowSummary


@dataclass(frozen=True, slots=True)
class ViewTrack:
    """The values of one row of a column, in time."""

    column: ViewColumn
    row: str
    points: list[TrackPoint] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.column.title} · {self.row}" if self.row else self.column.title

    @property
    def summary(self) -> WindowSummary:
        """What all its values come to."""
        found = WindowSummary()
        for point in self.points:
            found = found.with_later(point.summary)
        return found


def format_result(number: float) -> str:
    """Return a number that was worked out as text, without the noise of its last digits."""
    return f"{number:.12g}"
