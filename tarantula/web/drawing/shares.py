"""Bars, pies, gauges and treemaps: values beside one another."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tarantula.streams.kinds import Kind
from tarantula.streams.views.cells import Column
from tarantula.streams.views.sight import Sight
from tarantula.web.drawing.common import base, measured, value_axis

MOST = 60
MOST_GAUGES = 6
NICE = (1.0, 2.0, 5.0, 10.0)


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
    return found[:MOST]


def bar(sight: Sight) -> dict[str, Any]:
    """Return a bar for every number: rows one after the other, columns in colours."""
    columns, records = columns_of(sight), sight.records[:MOST]
    if all(not record.row for record in records):
        return _bars([measured(one.column) for one in slices(sight)], {"": [one.value for one in slices(sight)]})
    numbers = {
        measured(column): [
            cell.number if (cell := record.cells.get(column.letter)) is not None else None for record in records
        ]
        for column in columns
    }
    return _bars([record.row for record in records], numbers)


def _bars(names: list[str], numbers: dict[str, Any]) -> dict[str, Any]:
    label = {"hideOverlap": True, "width": 90, "overflow": "truncate"}
    return base(
        grid={"left": 8, "right": 12, "top": 16, "bottom": 36, "containLabel": True},
        legend={"type": "scroll", "bottom": 0, "show": len(numbers) > 1},
        tooltip={"trigger": "axis", "axisPointer": {"type": "shadow"}},
        xAxis={"type": "category", "data": names, "axisLabel": label},
        yAxis=value_axis(scale=False),
        series=[{"type": "bar", "name": name, "data": values, "barMaxWidth": 48} for name, values in numbers.items()],
    )


def pie(sight: Sight) -> dict[str, Any]:
    """Return a pie; what is less than nothing has no place in it."""
    data = [{"name": one.name, "value": one.value} for one in slices(sight) if one.value > 0]
    return base(
        legend={"type": "scroll", "bottom": 0},
        tooltip={"trigger": "item"},
        series=[{"type": "pie", "radius": ["0%", "62%"], "center": ["50%", "45%"], "data": data,
                 "label": {"overflow": "truncate", "width": 100}}],
    )  # fmt: skip


def treemap(sight: Sight) -> dict[str, Any]:
    """Return rectangles as large as the values."""
    data = [{"name": one.name, "value": one.value} for one in slices(sight) if one.value > 0]
    return base(
        tooltip={"trigger": "item"},
        series=[{"type": "treemap", "data": data, "roam": False, "nodeClick": False, "breadcrumb": {"show": False},
                 "width": "100%", "height": "100%", "label": {"overflow": "truncate"}}],
    )  # fmt: skip


def gauge(sight: Sight) -> dict[str, Any]:
    """Return a few gauges beside one another."""
    shown = slices(sight)[:MOST_GAUGES]
    across = max(1, min(len(shown), 3))
    down = max(1, math.ceil(len(shown) / across))
    return base(series=[_gauge(one, place, across, down) for place, one in enumerate(shown)])


def _gauge(one: Slice, place: int, across: int, down: int) -> dict[str, Any]:
    least, most = limits(one.value, one.column)
    column, line = place % across, place // across
    return {
        "type": "gauge",
        "min": least,
        "max": most,
        "radius": f"{int(82 / max(across, down))}%" if across * down > 1 else "82%",
        "center": [f"{(column + 0.5) * 100 / across:.1f}%", f"{(line + 0.55) * 100 / down:.1f}%"],
        "progress": {"show": True},
        "axisLabel": {"show": across * down == 1, "fontSize": 10},
        "axisTick": {"show": False},
        "splitLine": {"show": across * down == 1},
        "pointer": {"show": across * down == 1},
        "title": {"offsetCenter": [0, "92%"], "fontSize": 12, "width": 110, "overflow": "truncate"},
        "detail": {"fontSize": 18, "offsetCenter": [0, "60%"], "formatter": "{value}"},
        "data": [{"name": f"{one.name} ({one.column.unit})" if one.column.unit else one.name, "value": one.value}],
    }


def limits(value: float, column: Column) -> tuple[float, float]:
    """Return between what a gauge goes: a hundred for percentages, or else a round number above the value."""
    if column.kind == Kind.PERCENTAGE and 0 <= value <= 100:
        return 0.0, 100.0
    size = abs(value) * 1.2 or 1.0
    step = 10.0 ** math.floor(math.log10(size))
    most = next(nice * step for nice in NICE if nice * step >= size or nice == NICE[-1])
    return (-most if value < 0 else 0.0), most


def _named(row: str, column: Column, several: bool) -> str:
    if not row:
        return column.title
    return f"{row} · {column.title}" if several else row
