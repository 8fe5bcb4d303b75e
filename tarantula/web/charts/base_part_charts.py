"""Figures of the report of 2001 as charts that one can point at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

COLOURS = ["#1d4ed8", "#b45309", "#047857", "#be123c", "#6d28d9", "#0e7490", "#4d7c0f", "#a21caf", "#475569"]
MAX_BARS = 20
MAX_SERIES = len(COLOURS) - 1

# What is pointed at is drawn, never made markup: names of types and servers come from strangers.
TOOLTIP = {"renderMode": "richText", "confine": True}


def report_bars(names: Sequence[str], values: Sequence[int], *, columns: bool = False) -> dict[str, Any]:
    """Return a chart of one value for each name: bars from the left, or columns."""
    names, values = names[:MAX_BARS], values[:MAX_BARS]
    label = {"width": 170, "overflow": "truncate"} if not columns else {"rotate": 30, "hideOverlap": True}
    named: dict[str, Any] = {"type": "category", "data": list(names), "axisLabel": label, "inverse": not columns}
    counted = {"type": "value", "minInterval": 1}
    return {
        "color": COLOURS,
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 16, "bottom": 8, "containLabel": True},
        "tooltip": {**TOOLTIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": named if columns else counted,
        "yAxis": counted if columns else named,
        "series": [{"type": "bar", "data": list(values), "barMaxWidth": 28, "label": _numbers(columns)}],
    }


def stacked_bars(
    moments: Sequence[str], counts: Sequence[dict[str, int]], others: str, order: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a chart of many values for each moment, one on the other; the small ones are put together."""
    totals = Counter[str]()
    for one in counts:
        totals.update(one)
    most = {name for name, _number in totals.most_common(MAX_SERIES)}
    largest = [name for name in order or totals if name in most]
    series = {name: [one.get(name, 0) for one in counts] for name in largest}
    if len(totals) > len(largest):
        series[others] = [sum(one.values()) - sum(one.get(name, 0) for name in largest) for one in counts]
    return {
        "color": COLOURS,
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 16, "bottom": 64, "containLabel": True},
        "legend": {"type": "scroll", "bottom": 0},
        "tooltip": {**TOOLTIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": {"type": "category", "data": list(moments), "axisLabel": {"hideOverlap": True}},
        "yAxis": {"type": "value", "minInterval": 1},
        "series": [
            {"type": "bar", "name": name, "stack": "all", "data": values, "barMaxWidth": 48}
            for name, values in series.items()
        ],
    }


def chart_height(options: dict[str, Any]) -> str:
    """Return how high a chart is, in pixels: one line for each bar."""
    axis = options["yAxis"]
    return f"{60 + 26 * len(axis['data'])}px" if axis["type"] == "category" else "340px"


def _numbers(columns: bool) -> dict[str, Any]:
    return {"show": True, "position": "top" if columns else "right", "color": "#0f172a"}
