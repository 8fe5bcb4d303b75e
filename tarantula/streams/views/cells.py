"""What is shown, before it is drawn: values in rows and columns, and values in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tarantula.streams.kinds import Kind
from tarantula.streams.views.cells_part_summary import Summary


@dataclass(frozen=True, slots=True)
class Column:
    """A part of a view, or what is worked out of parts."""

    letter: str
    title: str
    """The words of whoever described the source: anybody's."""
    kind: Kind
    unit: str = ""
    source: str = ""
    """Nothing for what is worked out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value."""

    text: str
    """Exactly as it is kept."""
    number: float | None = None
    at: int | None = None
    """Microseconds since 1970: since when it is so."""


@dataclass(frozen=True, slots=True)
class Record:
    """Values that belong together: a row of a table as it is now, or what happened at a moment."""

    row: str
    cells: Mapping[str, Cell]
    """By the letters of their columns; what is missing is not there."""
    at: int | None = None
    """Microseconds since 1970, of what happened."""


@dataclass(frozen=True, slots=True)
class Point:
    """The values of a stretch of time."""

    at: int
    value: float
    """The one that stands for all of them."""
    summary: Summary


@dataclass(frozen=True, slots=True)
class Track:
    """The values of one row of a column, in time."""

    column: Column
    row: str
    points: list[Point] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.column.title} · {self.row}" if self.row else self.column.title

    @property
    def summary(self) -> Summary:
        """What all its values come to."""
        found = Summary()
        for point in self.points:
            found = found.with_later(point.summary)
        return found


def written(number: float) -> str:
    """Return a number that was worked out as text, without the noise of its last digits."""
    return f"{number:.12g}"
