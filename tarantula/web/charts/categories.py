"""Charts of values by name: bars, pies, treemaps, gauges and tag clouds."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any, NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.texts import fold_text
from tarantula.streams.views.cells import ViewColumn
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.charts.base import LEGEND, chart_options, column_label, number_formatter, value_axis

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


MAX_GAUGES = 6
ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
CARD_ASPECT = 1.15
"""How much wider than high a card is on a telephone."""


def gauge_chart(sight: ViewProjection) -> dict[str, Any]:
    """Return a few gauges beside one another."""
    shown = named_numbers(sight)[:MAX_GAUGES]
    across = math.ceil(math.sqrt(len(shown))) or 1
    down = math.ceil(len(shown) / across) or 1
    return chart_options(series=[_gauge(one, place, across, down) for place, one in enumerate(shown)])


def _gauge(one: ChartSlice, place: int, across: int, down: int) -> dict[str, Any]:
    least, most = gauge_limits(one.value, one.column)
    column, line = place % across, place // across
    alone = across * down == 1
    name = f"{one.name} ({one.column.unit})" if one.column.unit else one.name
    return {
        "type": "gauge",
        "min": least,
        "max": most,
        "splitNumber": 5 if alone else 1,
        "radius": f"{int(min(84 / down, 84 * CARD_ASPECT / across))}%",
        "center": [f"{(column + 0.5) * 100 / across:.1f}%", f"{(line + 0.5) * 100 / down:.1f}%"],
        "progress": {"show": True, "width": 12 if alone else 7},
        "axisLine": {"lineStyle": {"width": 12 if alone else 7}},
        "axisLabel": {"fontSize": 10, "distance": 16 if alone else 9, "color": "#475569",
                      ":formatter": number_formatter()},
        "axisTick": {"show": False},
        "splitLine": {"show": alone, "distance": 4, "length": 6},
        "pointer": {"show": alone, "width": 4, "length": "55%"},
        "title": {"offsetCenter": [0, "92%"], "fontSize": 12, "width": int(320 / across), "overflow": "truncate"},
        "detail": {"fontSize": 22 if alone else 15, "offsetCenter": [0, "52%" if alone else 0],
                   ":formatter": number_formatter()},
        "data": [{"name": name, "value": one.value}],
    }  # fmt: skip


def gauge_limits(value: float, column: ViewColumn) -> tuple[float, float]:
    """Return between what a gauge goes: a hundred for percentages, or else a round number above the value."""
    if column.kind == ValueKind.PERCENTAGE and 0 <= value <= 100:
        return 0.0, 100.0
    size = abs(value) * 1.2 or 1.0
    step = 10.0 ** math.floor(math.log10(size))
    most = next(nice * step for nice in ROUND_STEPS if nice * step >= size or nice == ROUND_STEPS[-1])
    return (-most if value < 0 else 0.0), most


MAX_TAGS = 60
SMALLEST, LARGEST = 0.85, 2.6
"""Sizes of letters, in those of the page."""
_WORD = re.compile(r"[^\W\d_]{4,}")


class CloudTag(NamedTuple):
    """A word in a cloud."""

    word: str
    weight: float
    size: float


def cloud_tags(sight: ViewProjection) -> list[CloudTag]:
    """Return names by their numbers; where there are none, the words of the texts by how often they are there."""
    texts = [column.letter for column in sight.columns if column.kind == ValueKind.TEXT]
    weights: Counter[str] = Counter()
    for one in named_numbers(sight)[:MAX_TAGS]:
        weights[one.name] += abs(one.value)  # type: ignore[assignment]  # Counters count in any number.
    if not weights:
        spelled = dict[str, str]()
        for record in sight.records:
            for letter in texts:
                for word in _WORD.findall(record.cells[letter].text if letter in record.cells else ""):
                    weights[spelled.setdefault(fold_text(word), word)] += 1
    found = weights.most_common(MAX_TAGS)
    largest = max((weight for _word, weight in found), default=0) or 1
    tagged = [
        CloudTag(word, weight, SMALLEST + (LARGEST - SMALLEST) * (weight / largest) ** 0.5) for word, weight in found
    ]
    return sorted(tagged, key=lambda tag: fold_text(tag.word))
