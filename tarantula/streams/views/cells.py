"""What is shown, before it is drawn: values in rows and columns, and values in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells_part_summary import WindowSummary


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
