"""Columns, cells, records and tracks of a view, and the summary of a window."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tarantula.streams.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """Summary of the numbers of a window; ``None`` where there are none."""

    count: int = 0
    sum: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    first: float | None = None
    last: float | None = None

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count and self.sum is not None else None

    @property
    def change(self) -> float | None:
        """Difference between the last and the first value."""
        return self.last - self.first if self.last is not None and self.first is not None else None

    def with_later(self, other: WindowSummary) -> WindowSummary:
        """Return the summary of these values followed by those of *other*."""
        return WindowSummary(
            self.count + other.count,
            _combined(operator.add, self.sum, other.sum),
            _combined(min, self.minimum, other.minimum),
            _combined(max, self.maximum, other.maximum),
            other.first if self.first is None else self.first,
            self.last if other.last is None else other.last,
        )


def _combined(work: Callable[[float, float], float], one: float | None, two: float | None) -> float | None:
    if one is None or two is None:
        return two if one is None else one
    return work(one, two)


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A part or a formula of a view."""

    letter: str
    title: str
    """Title of the field, as written in the configuration of the source; untrusted text."""
    kind: ValueKind
    unit: str = ""
    source: str = ""
    """Source of the part; empty for a formula."""


@dataclass(frozen=True, slots=True)
class ViewCell:
    text: str
    """Value as stored."""
    number: float | None = None
    at: int | None = None
    """Time since when the value is valid, microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class ViewRecord:
    """Cells of one row: current values, or the events of one moment."""

    row: str
    cells: Mapping[str, ViewCell]
    """Cells by the letter of their column; missing values have none."""
    at: int | None = None
    """Time of the events, microseconds since 1970; ``None`` for current values."""


@dataclass(frozen=True, slots=True)
class TrackPoint:
    """Values of one interval of a track."""

    at: int
    value: float
    """Aggregated value."""
    summary: WindowSummary


@dataclass(frozen=True, slots=True)
class ViewTrack:
    """Values of one row of a column over time."""

    column: ViewColumn
    row: str
    points: list[TrackPoint] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.column.title} · {self.row}" if self.row else self.column.title

    @property
    def summary(self) -> WindowSummary:
        """Summary of all points."""
        summary = WindowSummary()
        for point in self.points:
            summary = summary.with_later(point.summary)
        return summary


def format_result(number: float) -> str:
    """Return a calculated number as text, rounded to 12 digits."""
    return f"{number:.12g}"
