"""Which values can be shown in which way."""

from __future__ import annotations

from collections.abc import Sequence

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import ViewColumn
from tarantula.streams.views.config import ViewConfig, ViewKind, WindowFunction

TIME_KINDS = frozenset({ViewKind.LINE, ViewKind.AREA, ViewKind.SCATTER})
"""What shows a window rather than a moment."""
UNIVERSAL_KINDS = frozenset({ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD, ViewKind.NETWORK})
LATITUDE_NAMES = ("latitude", "lat")
LONGITUDE_NAMES = ("longitude", "lon", "lng", "long")


def is_numeric_column(column: ViewColumn) -> bool:
    """Whether a column's values are numbers that mean something beside one another."""
    return column.kind.is_number and column.kind != ValueKind.MOMENT


def misfit_reason(view: ViewConfig, columns: Sequence[ViewColumn]) -> str:
    """Say why values cannot be shown in this way; nothing if they can."""
    numbers = [column for column in columns if is_numeric_column(column)]
    if view.kind in UNIVERSAL_KINDS:
        return ""
    if view.kind == ViewKind.MAP:
        return "" if coordinate_columns(columns) else "A map needs two numbers, a latitude and a longitude."
    counted = view.function == WindowFunction.COUNT and view.kind not in TIME_KINDS
    if not numbers and not counted:
        return f"This way of showing ({view.kind}) needs a number, and there is none. Text and tables show anything."
    return ""


def coordinate_columns(columns: Sequence[ViewColumn]) -> tuple[ViewColumn, ViewColumn] | None:
    """Return the columns of latitude and longitude: told by their names, or else the first two numbers."""
    numbers = [column for column in columns if is_numeric_column(column)]
    latitude, longitude = _named(numbers, LATITUDE_NAMES), _named(numbers, LONGITUDE_NAMES)
    if latitude is not None and longitude is not None:
        return latitude, longitude
    return (numbers[0], numbers[1]) if len(numbers) > 1 else None


def has_named_coordinates(columns: Sequence[ViewColumn]) -> bool:
    """Whether a latitude and a longitude are called so."""
    numbers = [column for column in columns if is_numeric_column(column)]
    return all(_named(numbers, names) is not None for names in (LATITUDE_NAMES, LONGITUDE_NAMES))


def _named(columns: Sequence[ViewColumn], names: tuple[str, ...]) -> ViewColumn | None:
    def words(column: ViewColumn) -> list[str]:
        return column.title.casefold().replace("_", " ").replace(":", " ").replace("·", " ").split()

    return next((column for column in columns if any(name in words(column) for name in names)), None)
