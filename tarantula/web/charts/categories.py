"""Bars, pies and treemaps: values beside one another."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarantula.streams.kinds import Kind
from tarantula.streams.views.cells import Column
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.charts.base import LEGEND
from tarantula.web.charts.base_part_common import base, measured, value_axis

MOST = 60
UPRIGHT = 6
"""Names that stand side by side below their bars; more are turned."""
WIDTH = 330
"""Pixels that they share on a telephone."""


class Slice(NamedTuple):
    """A value with its name."""

    name: str
    value: float
    column: Column


def columns_of(sight: Sight) -> list[Column]:
    """Return the columns that have a number in some row."""
    there = {letter for record in sight.records for letter, cell in record.cells.items() if cell.number is not None}
    moments = {column.letter for column in sight.columns if column.kind == Kind.MOMENT}
    return [column for column in sight.columns if column.letter in there - moments]


def slices(sight: Sight) -> list[Slice]:
    """Return every number with a name: its row, its column, or both."""
    columns = columns_of(sight)
    found = list[Slice]()
    for record in sight.records:
        for column in columns:
            cell = record.cells.get(column.letter)
            if cell is not None and cell.number is not None:
                found.append(Slice(_named(record.row, column, len(columns) > 1), cell.number, column))
    return found


def shares(sight: Sight) -> list[Slice]:
    """Return the numbers that can be parts of a whole; what is nothing, or less, cannot."""
    return [one for one in slices(sight) if one.value > 0]


def bar(sight: Sight) -> dict[str, Any]:
    """Return a bar for every number: rows one after the other, columns in colours."""
    columns, records = columns_of(sight), sight.records[:MOST]
    if all(not record.row for record in records):
        found = slices(sight)[:MOST]
        return _bars([measured(one.column) for one in found], {"": [one.value for one in found]})
    numbers = {
        measured(column): [
            cell.number if (cell := record.cells.get(column.letter)) is not None else None for record in records
        ]
        for column in columns
    }
    return _bars([record.row for record in records], numbers)


def _bars(names: list[str], numbers: dict[str, Any]) -> dict[str, Any]:
    several = len(numbers) > 1
    return base(
        grid={"left": 8, "right": 12, "top": 32, "bottom": 36 if several else 8, "containLabel": True},
        legend={**LEGEND, "show": several},
        tooltip={"trigger": "axis", "axisPointer": {"type": "shadow"}},
        xAxis={"type": "category", "data": names, "axisLabel": _labels(names)},
        yAxis=value_axis(scale=False, name="" if several else next(iter(numbers), "")),
        series=[{"type": "bar", "name": name, "data": values, "barMaxWidth": 48} for name, values in numbers.items()],
    )


def _labels(names: list[str]) -> dict[str, Any]:
    if len(names) <= UPRIGHT:
        return {"interval": 0, "width": WIDTH // max(len(names), 1), "overflow": "break", "lineHeight": 14}
    return {"rotate": 40, "width": 90, "overflow": "truncate", "hideOverlap": True}


def pie(sight: Sight) -> dict[str, Any]:
    """Return a pie; what is less than nothing has no place in it."""
    data = [{"name": one.name, "value": one.value} for one in shares(sight)[:MOST]]
    label = {"formatter": "{b}\n{d} %", "lineHeight": 15, "overflow": "truncate", "alignTo": "edge", "edgeDistance": 6}
    return base(
        tooltip={"trigger": "item"},
        series=[{"type": "pie", "radius": ["0%", "64%"], "center": ["50%", "50%"], "percentPrecision": 0,
                 "data": data, "label": label,
                 "labelLayout": {"hideOverlap": True}}],
    )  # fmt: skip


def treemap(sight: Sight) -> dict[str, Any]:
    """Return rectangles as large as the values."""
    data = [{"name": one.name, "value": one.value} for one in shares(sight)[:MOST]]
    return base(
        tooltip={"trigger": "item"},
        series=[{"type": "treemap", "data": data, "roam": False, "nodeClick": False, "breadcrumb": {"show": False},
                 "left": 0, "top": 0, "right": 0, "bottom": 0, "width": "auto", "height": "auto",
                 "label": {"overflow": "truncate"}}],
    )  # fmt: skip


def _named(row: str, column: Column, several: bool) -> str:
    if not row:
        return column.title
    return f"{row} · {column.title}" if several else row
