"""Which values can be shown in which way."""

from __future__ import annotations

from collections.abc import Sequence

from tarantula.streams.kinds import Kind
from tarantula.streams.views.cells import Column
from tarantula.streams.views.config import Function, ViewConfig, ViewKind

IN_TIME = frozenset({ViewKind.LINE, ViewKind.AREA, ViewKind.SCATTER})
"""What shows a window rather than a moment."""
OF_ANYTHING = frozenset({ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD, ViewKind.NETWORK})
LATITUDE = ("latitude", "lat")
LONGITUDE = ("longitude", "lon", "lng", "long")


def is_drawn(column: Column) -> bool:
    """Whether a column's values are numbers that mean something beside one another."""
    return column.kind.is_number and column.kind != Kind.MOMENT


def why_not(view: ViewConfig, columns: Sequence[Column]) -> str:
    """Say why values cannot be shown in this way; nothing if they can."""
    numbers = [column for column in columns if is_drawn(column)]
    if view.kind in OF_ANYTHING:
        return ""
    if view.kind == ViewKind.MAP:
        return "" if coordinates(columns) else "A map needs two numbers, a latitude and a longitude."
    counted = view.function == Function.COUNT and view.kind not in IN_TIME
    if not numbers and not counted:
        return f"This way of showing ({view.kind}) needs a number, and there is none. Text and tables show anything."
    return ""


def coordinates(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Return the columns of latitude and longitude: told by their names, or else the first two numbers."""
    numbers = [column for column in columns if is_drawn(column)]
    latitude, longitude = _named(numbers, LATITUDE), _named(numbers, LONGITUDE)
    if latitude is not None and longitude is not None:
        return latitude, longitude
    return (numbers[0], numbers[1]) if len(numbers) > 1 else None


def is_told_by_names(columns: Sequence[Column]) -> bool:
    """Whether a latitude and a longitude are called so."""
    numbers = [column for column in columns if is_drawn(column)]
    return all(_named(numbers, names) is not None for names in (LATITUDE, LONGITUDE))


def _named(columns: Sequence[Column], names: tuple[str, ...]) -> Column | None:
    def words(column: Column) -> list[str]:
        return column.title.casefold().replace("_", " ").replace(":", " ").replace("·", " ").split()

    return next((column for column in columns if any(name in words(column) for name in names)), None)
