"""Line, area and scatter charts with a time window that can be dragged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tarantula.streams.views.cells import TrackPoint, ViewTrack
from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.charts.base import LEGEND, ChartScales, chart_options, column_label, scales_of, value_axis

# Numeric formats: ECharts has month names only in English.
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
"""How far the time axis extends on each side, in windows, so that dragging does not stop."""


def timeline_chart(projection: ViewProjection) -> dict[str, Any]:
    """Return options of a chart of the tracks of a view."""
    pairs = scatter_pairs(projection) if projection.view.kind == ViewKind.SCATTER else None
    if pairs is not None:
        return _scatter_chart(projection, *pairs)
    scales = scales_of(projection)
    # The name of a single track is above its panel.
    several = len(projection.tracks) > scales.panels
    return chart_options(
        grid=scales.grids(legend=several),
        legend={**LEGEND, "show": several},
        tooltip={"trigger": "axis"},
        axisPointer={"link": [{"xAxisIndex": "all"}]},
        xAxis=[_time_axis(projection, panel, scales.panels) for panel in range(scales.panels)],
        yAxis=[value_axis(**axis) for axis in scales.axes()],
        dataZoom=[{**zoom_options(projection), "xAxisIndex": list(range(scales.panels))}],
        series=timeline_series(projection),
    )


def timeline_series(projection: ViewProjection) -> list[dict[str, Any]]:
    """Return the series alone, to update an existing chart."""
    scales = scales_of(projection)
    return [_series(projection, track, scales) for track in projection.tracks]


def zoom_options(projection: ViewProjection) -> dict[str, Any]:
    """Return the zoom options: drag to move, Ctrl and wheel or two fingers to zoom."""
    return {
        "type": "inside",
        "startValue": projection.begin // 1000,
        "endValue": projection.end // 1000,
        "filterMode": "none",
        "zoomOnMouseWheel": "ctrl",
        "moveOnMouseMove": True,
        "preventDefaultMouseMove": False,
    }


def _time_axis(projection: ViewProjection, panel: int, panels: int) -> dict[str, Any]:
    label = {"formatter": TIME_FORMATS, "hideOverlap": True, "show": panel == panels - 1}
    return {
        "type": "time",
        "gridIndex": panel,
        **time_limits(projection.begin, projection.end),
        "axisLabel": label,
    }


def time_limits(begin: int, end: int) -> dict[str, int]:
    """Return the ends of the time axis in milliseconds."""
    room = (end - begin) * DRAG_WINDOWS
    return {"min": (begin - room) // 1000, "max": (end + room) // 1000}


def _series(projection: ViewProjection, track: ViewTrack, scales: ChartScales) -> dict[str, Any]:
    kind = projection.view.kind
    drawn: dict[str, Any] = {
        "name": scales.track_name(track),
        "type": "scatter" if kind == ViewKind.SCATTER else "line",
        **scales.axis_indexes(track),
        "data": [[point.at // 1000, point.value] for point in track.points],
        "symbolSize": 5,
        "showSymbol": len(track.points) < 60,
    }
    if kind != ViewKind.SCATTER and projection.grain == "event":
        # A value holds until the next reading.
        drawn["step"] = "end"
    if kind == ViewKind.AREA:
        drawn["areaStyle"] = {"opacity": 0.25}
    return drawn


def scatter_pairs(projection: ViewProjection) -> tuple[str, str, list[tuple[str, list[list[float]]]]] | None:
    """Return two columns as pairs for each row; None if there is only one column."""
    columns = list(dict.fromkeys(track.column for track in projection.tracks))
    if len(columns) < 2:
        return None
    across, up = columns[0], columns[1]
    rows = dict[str, dict[str, list[TrackPoint]]]()
    for track in projection.tracks:
        rows.setdefault(track.row, {})[track.column.letter] = track.points
    shared = rows.get("", {})
    found = list[tuple[str, list[list[float]]]]()
    for row, tracks in rows.items():
        points_by_letter = {**shared, **tracks}
        if across.letter in points_by_letter and up.letter in points_by_letter:
            found.append((row, _pairs(points_by_letter[across.letter], points_by_letter[up.letter])))
    return column_label(across), column_label(up), found


def _pairs(across: Sequence[TrackPoint], up: Sequence[TrackPoint]) -> list[list[float]]:
    changes = sorted([(point.at, 0, point.value) for point in across] + [(point.at, 1, point.value) for point in up])
    latest: list[float | None] = [None, None]
    found = dict[int, list[float]]()
    for at, which, value in changes:
        latest[which] = value
        if latest[0] is not None and latest[1] is not None:
            found[at] = [latest[0], latest[1]]
    return list(found.values())


def _scatter_chart(
    projection: ViewProjection, across: str, up: str, rows: Sequence[tuple[str, list[list[float]]]]
) -> dict[str, Any]:
    several = len(rows) > 1
    return chart_options(
        grid={"left": 8, "right": 24, "top": 32, "bottom": 60 if several else 32, "containLabel": True},
        legend={**LEGEND, "show": several},
        tooltip={"trigger": "item"},
        xAxis=value_axis(name=across, nameLocation="middle", nameGap=28),
        yAxis=value_axis(name=up),
        series=[
            {"type": "scatter", "name": row or projection.title, "data": data, "symbolSize": 7} for row, data in rows
        ],
    )
