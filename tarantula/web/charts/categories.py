"""Bars, pies and treemaps: values beside one another."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import ViewColumn
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.base import LEGEND
from tarantula.web.charts.base_part_common import chart_options, column_label, value_axis

MAX_SLICES = 60
MAX_UPRIGHT_LABELS = 6
"""Names that stand side by side below their bars; more are turned."""
LABEL_WIDTH_PIXELS = 330
"""Pixels that they share on a telephone."""


class ChartSlice(NamedTuple):
    """A value with its name."""

    name: str
    value: float
    column: ViewColumn


def numeric_columns(sight: ViewProjection) -> list[ViewColumn]:
    """Return the columns that have a number in some row."""
    there = {letter for record in sight.records for letter, cell in record.cells.items() if cell.number is not None}
    moments = {column.letter for column in sight.columns if column.kind == ValueKind.MOMENT}
    return [column for column in sight.columns if column.letter in there - moments]


def named_numbers(sight: ViewProjection) -> list[ChartSlice]:
    """Return every number with a name: its row, its column, or both."""
    columns = numeric_columns(sight)
    found = list[ChartSlice]()
    for record in sight.records:
        for column in columns:
            cell = record.cells.get(column.letter)
            if cell is not None and cell.number is not None:
                found.append(ChartSlice(_named(record.row, column, len(columns) > 1), cell.number, column))
    return found


def positive_numbers(sight: ViewProjection) -> list[ChartSlice]:
    """Return the numbers that can be parts of a whole; what is nothing, or less, cannot."""
    return [one for one in named_numbers(sight) if one.value > 0]


def bar_chart(sight: ViewProjection) -> dict[str, Any]:
    """Return a bar for every number: rows one after the other, columns in colours."""
    columns, records = numeric_columns(sight), sight.records[:MAX_SLICES]
    if all(not record.row for record in records):
        found = named_numbers(sight)[:MAX_SLICES]
        return _bars([column_label(one.column) for one in found], {"": [one.value for one in found]})
    numbers = {
        column_label(column): [
            cell.number if (cell := record.cells.get(column.letter)) is not None else None for record in records
        ]
        for column in columns
    }
    return _bars([record.row for record in records], numbers)


def _bars(names: list[str], numbers: dict[str, Any]) -> dict[str, Any]:
    several = len(numbers) > 1
    return chart_options(
        grid={"left": 8, "right": 12, "top": 32, "bottom": 36 if several else 8, "containLabel": True},
        legend={**LEGEND, "show": several},
        tooltip={"trigger": "axis", "axisPointer": {"type": "shadow"}},
        xAxis={"type": "category", "data": names, "axisLabel": _labels(names)},
        yAxis=value_axis(scale=False, name="" if several else next(iter(numbers), "")),
        series=[{"type": "bar", "name": name, "data": values, "barMaxWidth": 48} for name, values in numbers.items()],
    )


def _labels(names: list[str]) -> dict[str, Any]:
    if len(names) <= MAX_UPRIGHT_LABELS:
        return {"interval": 0, "width": LABEL_WIDTH_PIXELS // max(len(names), 1), "overflow": "break", "lineHeight": 14}
    return {"rotate": 40, "width": 90, "overflow": "truncate", "hideOverlap": True}


def pie_chart(sight: ViewProjection) -> dict[str, Any]:
    """Return a pie; what is less than nothing has no place in it."""
    data = [{"name": one.name, "value": one.value} for one in positive_numbers(sight)[:MAX_SLICES]]
    label = {"formatter": "{b}\n{d} %", "lineHeight": 15, "overflow": "truncate", "alignTo": "edge", "edgeDistance": 6}
    return chart_options(
        tooltip={"trigger": "item"},
        series=[{"type": "pie", "radius": ["0%", "64%"], "center": ["50%", "50%"], "percentPrecision": 0,
                 "data": data, "label": label,
                 "labelLayout": {"hideOverlap": True}}],
    )  # fmt: skip


def treemap_chart(sight: ViewProjection) -> dict[str, Any]:
    """Return rectangles as large as the values."""
    data = [{"name": one.name, "value": one.value} for one in positive_numbers(sight)[:MAX_SLICES]]
    return chart_options(
        tooltip={"trigger": "item"},
        series=[{"type": "treemap", "data": data, "roam": False, "nodeClick": False, "breadcrumb": {"show": False},
                 "left": 0, "top": 0, "right": 0, "bottom": 0, "width": "auto", "height": "auto",
                 "label": {"overflow": "truncate"}}],
    )  # fmt: skip


def _named(row: str, column: ViewColumn, several: bool) -> str:
    if not row:
        return column.title
    return f"{row} · {column.title}" if several else row
