"""Gauges: where a value stands between two round numbers."""

from __future__ import annotations

import math
from typing import Any

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import ViewColumn
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.base_part_common import chart_options, number_formatter
from tarantula.web.charts.categories import ChartSlice, named_numbers

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
