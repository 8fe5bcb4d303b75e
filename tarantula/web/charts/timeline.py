"""Lines, areas and dots: a window that can be dragged along time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tarantula.streams.views.cells import TrackPoint, ViewTrack
from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.charts.base import LEGEND, ChartScales, chart_options, column_label, scales_of, value_axis

# Moments in figures alone: ECharts knows the names of months in English only.
TIME_FORMATS = {
    "year": "{yyyy}",
    "month": "{yyyy}-{MM}",
    "day": "{MM}-{dd}",
    "hour": "{HH}:{mm}",
    "minute": "{HH}:{mm}",
    "second": "{HH}:{mm}:{ss}",
    "millisecond": "{HH}:{mm}:{ss}",
}
DRAG_WINDOWS = 10
"""Windows before and after the one that is seen, through which it can be dragged at once."""


def timeline_chart(sight: ViewProjection) -> dict[str, Any]:
    """Return the chart of a view's tracks."""
    scattered = scatter_pairs(sight) if sight.view.kind == ViewKind.SCATTER else None
    if scattered is not None:
        return _against(sight, *scattered)
    scales = scales_of(sight)
    # A panel of one track has its name above it.
    several = len(sight.tracks) > scales.panels
    return chart_options(
        grid=scales.grids(legend=several),
        legend={**LEGEND, "show": several},
        tooltip={"trigger": "axis"},
        axisPointer={"link": [{"xAxisIndex": "all"}]},
        xAxis=[_time_axis(sight, panel, scales.panels) for panel in range(scales.panels)],
        yAxis=[value_axis(**axis) for axis in scales.axes()],
        dataZoom=[{**zoom_options(sight), "xAxisIndex": list(range(scales.panels))}],
        series=timeline_series(sight),
    )


def timeline_series(sight: ViewProjection) -> list[dict[str, Any]]:
    """Return the data alone, for a chart that is there."""
    scales = scales_of(sight)
    return [_one(sight, track, scales) for track in sight.tracks]


def zoom_options(sight: ViewProjection) -> dict[str, Any]:
    """Return the window, which is dragged, and zoomed with the wheel and Ctrl or with two fingers."""
    return {
        "type": "inside",
        "startValue": sight.begin // 1000,
        "endValue": sight.end // 1000,
        "filterMode": "none",
        "zoomOnMouseWheel": "ctrl",
        "moveOnMouseMove": True,
        "preventDefaultMouseMove": False,
    }


def _time_axis(sight: ViewProjection, panel: int, panels: int) -> dict[str, Any]:
    label = {"formatter": TIME_FORMATS, "hideOverlap": True, "show": panel == panels - 1}
    return {
        "type": "time",
        "gridIndex": panel,
        **time_limits(sight.begin, sight.end),
        "axisLabel": label,
    }


def time_limits(begin: int, end: int) -> dict[str, int]:
    """Return how far a window can be dragged."""
    room = (end - begin) * DRAG_WINDOWS
    return {"min": (begin - room) // 1000, "max": (end + room) // 1000}


def _one(sight: ViewProjection, track: ViewTrack, scales: ChartScales) -> dict[str, Any]:
    kind = sight.view.kind
    drawn: dict[str, Any] = {
        "name": scales.name(track),
        "type": "scatter" if kind == ViewKind.SCATTER else "line",
        **scales.place(track),
        "data": [[point.at // 1000, point.value] for point in track.points],
        "symbolSize": 5,
        "showSymbol": len(track.points) < 60,
    }
    if kind != ViewKind.SCATTER and sight.grain == "event":
        # A value holds until another is read.
        drawn["step"] = "end"
    if kind == ViewKind.AREA:
        drawn["areaStyle"] = {"opacity": 0.25}
    return drawn


def scatter_pairs(sight: ViewProjection) -> tuple[str, str, list[tuple[str, list[list[float]]]]] | None:
    """Return two columns held against each other, row by row; nothing if there is only one."""
    columns = list(dict.fromkeys(track.column for track in sight.tracks))
    if len(columns) < 2:
        return None
    across, up = columns[0], columns[1]
    rows = dict[str, dict[str, list[TrackPoint]]]()
    for track in sight.tracks:
        rows.setdefault(track.row, {})[track.column.letter] = track.points
    shared = rows.get("", {})
    found = list[tuple[str, list[list[float]]]]()
    for row, tracks in rows.items():
        both = {**shared, **tracks}
        if across.letter in both and up.letter in both:
            found.append((row, _paired(both[across.letter], both[up.letter])))
    return column_label(across), column_label(up), found


def _paired(across: Sequence[TrackPoint], up: Sequence[TrackPoint]) -> list[list[float]]:
    changes = sorted([(point.at, 0, point.value) for point in across] + [(point.at, 1, point.value) for point in up])
    latest: list[float | None] = [None, None]
    found = dict[int, list[float]]()
    for at, which, value in changes:
        latest[which] = value
        if latest[0] is not None and latest[1] is not None:
            found[at] = [latest[0], latest[1]]
    return list(found.values())


def _against(
    sight: ViewProjection, across: str, up: str, rows: Sequence[tuple[str, list[list[float]]]]
) -> dict[str, Any]:
    several = len(rows) > 1
    return chart_options(
        grid={"left": 8, "right": 24, "top": 32, "bottom": 60 if several else 32, "containLabel": True},
        legend={**LEGEND, "show": several},
        tooltip={"trigger": "item"},
        xAxis=value_axis(name=across, nameLocation="middle", nameGap=28),
        yAxis=value_axis(name=up),
        series=[{"type": "scatter", "name": row or sight.title, "data": data, "symbolSize": 7} for row, data in rows],
    )
