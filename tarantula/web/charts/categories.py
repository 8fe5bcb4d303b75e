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
"""Up to this number, labels are horizontal; with more, they are rotated."""
LABEL_WIDTH_PIXELS = 330
"""Width that the labels share on a telephone."""


class ChartSlice(NamedTuple):
    """A number with its label."""

    name: str
    value: float
    column: ViewColumn


def numeric_columns(projection: ViewProjection) -> list[ViewColumn]:
    """Return the columns with a number in at least one row."""
    with_numbers = {
        letter for record in projection.records for letter, cell in record.cells.items() if cell.number is not None
    }
    moments = {column.letter for column in projection.columns if column.kind == ValueKind.MOMENT}
    return [column for column in projection.columns if column.letter in with_numbers - moments]


def named_numbers(projection: ViewProjection) -> list[ChartSlice]:
    """Return every number, labelled with its row, its column or both."""
    columns = numeric_columns(projection)
    found = list[ChartSlice]()
    for record in projection.records:
        for column in columns:
            cell = record.cells.get(column.letter)
            if cell is not None and cell.number is not None:
                found.append(ChartSlice(_slice_label(record.row, column, len(columns) > 1), cell.number, column))
    return found


def positive_numbers(projection: ViewProjection) -> list[ChartSlice]:
    """Return the numbers above zero, which can be parts of a whole."""
    return [one for one in named_numbers(projection) if one.value > 0]


def bar_chart(projection: ViewProjection) -> dict[str, Any]:
    """Return options of a bar chart: one group for each row, one colour for each column."""
    columns, records = numeric_columns(projection), projection.records[:MAX_SLICES]
    if all(not record.row for record in records):
        found = named_numbers(projection)[:MAX_SLICES]
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


def pie_chart(projection: ViewProjection) -> dict[str, Any]:
    """Return options of a pie chart of the positive numbers."""
    data = [{"name": one.name, "value": one.value} for one in positive_numbers(projection)[:MAX_SLICES]]
    label = {"formatter": "{b}\n{d} %", "lineHeight": 15, "overflow": "truncate", "alignTo": "edge", "edgeDistance": 6}
    return chart_options(
        tooltip={"trigger": "item"},
        series=[{"type": "pie", "radius": ["0%", "64%"], "center": ["50%", "50%"], "percentPrecision": 0,
                 "data": data, "label": label,
                 "labelLayout": {"hideOverlap": True}}],
    )  # fmt: skip


def treemap_chart(projection: ViewProjection) -> dict[str, Any]:
    """Return options of a treemap of the positive numbers."""
    data = [{"name": one.name, "value": one.value} for one in positive_numbers(projection)[:MAX_SLICES]]
    return chart_options(
        tooltip={"trigger": "item"},
        series=[{"type": "treemap", "data": data, "roam": False, "nodeClick": False, "breadcrumb": {"show": False},
                 "left": 0, "top": 0, "right": 0, "bottom": 0, "width": "auto", "height": "auto",
                 "label": {"overflow": "truncate"}}],
    )  # fmt: skip


def _slice_label(row: str, column: ViewColumn, several: bool) -> str:
    if not row:
        return column.title
    return f"{row} · {column.title}" if several else row


MAX_GAUGES = 6
ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
CARD_ASPECT = 1.15
"""Width divided by height of a card on a telephone."""


def gauge_chart(projection: ViewProjection) -> dict[str, Any]:
    """Return options of up to six gauges in a grid."""
    shown = named_numbers(projection)[:MAX_GAUGES]
    across = math.ceil(math.sqrt(len(shown))) or 1
    down = math.ceil(len(shown) / across) or 1
    return chart_options(series=[_gauge(one, index, across, down) for index, one in enumerate(shown)])


def _gauge(one: ChartSlice, index: int, across: int, down: int) -> dict[str, Any]:
    least, most = gauge_limits(one.value, one.column)
    column, line = index % across, index // across
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
    """Return the range of a gauge: 0 to 100 for percentages, else up to a round number above the value."""
    if column.kind == ValueKind.PERCENTAGE and 0 <= value <= 100:
        return 0.0, 100.0
    size = abs(value) * 1.2 or 1.0
    step = 10.0 ** math.floor(math.log10(size))
    most = next(nice * step for nice in ROUND_STEPS if nice * step >= size or nice == ROUND_STEPS[-1])
    return (-most if value < 0 else 0.0), most


MAX_TAGS = 60
MIN_FONT_SIZE, MAX_FONT_SIZE = 0.85, 2.6
"""Font sizes in rem."""
_WORD = re.compile(r"[^\W\d_]{4,}")


class CloudTag(NamedTuple):
    """A tag with its weight and font size."""

    word: str
    weight: float
    size: float


def cloud_tags(projection: ViewProjection) -> list[CloudTag]:
    """Return the names weighted by their numbers; without numbers, the words of the texts weighted by frequency."""
    texts = [column.letter for column in projection.columns if column.kind == ValueKind.TEXT]
    weights: Counter[str] = Counter()
    for one in named_numbers(projection)[:MAX_TAGS]:
        weights[one.name] += abs(one.value)  # type: ignore[assignment]  # Counters count in any number.
    if not weights:
        spellings = dict[str, str]()
        for record in projection.records:
            for letter in texts:
                for word in _WORD.findall(record.cells[letter].text if letter in record.cells else ""):
                    weights[spellings.setdefault(fold_text(word), word)] += 1
    found = weights.most_common(MAX_TAGS)
    largest = max((weight for _word, weight in found), default=0) or 1
    sized = [
        CloudTag(word, weight, MIN_FONT_SIZE + (MAX_FONT_SIZE - MIN_FONT_SIZE) * (weight / largest) ** 0.5)
        for word, weight in found
    ]
    return sorted(sized, key=lambda tag: fold_text(tag.word))
