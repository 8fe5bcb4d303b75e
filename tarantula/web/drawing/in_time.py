"""Lines, areas and dots: a window that can be dragged along time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tarantula.streams.views.cells import Point, Track
from tarantula.streams.views.sight import Sight
from tarantula.streams.views.view import ViewKind
from tarantula.web.drawing.common import base, measured, value_axis

# Moments in figures alone: ECharts knows the names of months in English only.
MOMENTS = {
    "year": "{yyyy}",
    "month": "{yyyy}-{MM}",
    "day": "{MM}-{dd}",
    "hour": "{HH}:{mm}",
    "minute": "{HH}:{mm}",
    "second": "{HH}:{mm}:{ss}",
    "millisecond": "{HH}:{mm}:{ss}",
}
BACK = 20 * 366 * 86_400_000
AHEAD = 2 * 86_400_000
"""Milliseconds to which the axis goes, so that the window has somewhere to be dragged to."""


def in_time(sight: Sight, opened_at: int) -> dict[str, Any]:
    """Return the chart of a view's tracks; *opened_at*, in milliseconds, is where the axis is hung up."""
    scattered = scatter_pairs(sight) if sight.view.kind == ViewKind.SCATTER else None
    if scattered is not None:
        return _against(sight, *scattered)
    units = list(dict.fromkeys(track.column.unit for track in sight.tracks))[:2] or [""]
    return base(
        grid={"left": 8, "right": 12, "top": 28, "bottom": 36, "containLabel": True},
        legend={"type": "scroll", "bottom": 0},
        tooltip={"trigger": "axis"},
        xAxis={
            "type": "time",
            "min": opened_at - BACK,
            "max": opened_at + AHEAD,
            "axisLabel": {"formatter": MOMENTS, "hideOverlap": True},
        },
        # A second scale for values of another unit.
        yAxis=[value_axis(name=unit, nameGap=8) for unit in units],
        dataZoom=[zoom(sight)],
        series=series(sight, units),
    )


def series(sight: Sight, units: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the data alone, for a chart that is there."""
    units = units or list(dict.fromkeys(track.column.unit for track in sight.tracks))[:2]
    return [_one(sight, track, units) for track in sight.tracks]


def zoom(sight: Sight) -> dict[str, Any]:
    """Return the window, which is dragged, and zoomed with the wheel and Ctrl or with two fingers."""
    return {
        "type": "inside",
        "startValue": sight.begin // 1000,
        "endValue": sight.end // 1000,
        "filterMode": "none",
        "zoomOnMouseWheel": "ctrl",
        "moveOnMouseMove": True,
        "preventDefaultMouseMove": False,
        "minValueSpan": 10_000,
    }


def _one(sight: Sight, track: Track, units: Sequence[str]) -> dict[str, Any]:
    kind = sight.view.kind
    drawn: dict[str, Any] = {
        "name": track.title,
        "type": "scatter" if kind == ViewKind.SCATTER else "line",
        "yAxisIndex": units.index(track.column.unit) if track.column.unit in units else 0,
        "data": [[point.at / 1000, point.value] for point in track.points],
        "symbolSize": 5,
        "showSymbol": len(track.points) < 60,
    }
    if kind != ViewKind.SCATTER and sight.grain == "event":
        # A value holds until another is read.
        drawn["step"] = "end"
    if kind == ViewKind.AREA:
        drawn["areaStyle"] = {"opacity": 0.25}
    return drawn


def scatter_pairs(sight: Sight) -> tuple[str, str, list[tuple[str, list[list[float]]]]] | None:
    """Return two columns held against each other, row by row; nothing if there is only one."""
    columns = list(dict.fromkeys(track.column for track in sight.tracks))
    if len(columns) < 2:
        return None
    across, up = columns[0], columns[1]
    rows = dict[str, dict[str, list[Point]]]()
    for track in sight.tracks:
        rows.setdefault(track.row, {})[track.column.letter] = track.points
    shared = rows.get("", {})
    found = list[tuple[str, list[list[float]]]]()
    for row, tracks in rows.items():
        both = {**shared, **tracks}
        if across.letter in both and up.letter in both:
            found.append((row, _paired(both[across.letter], both[up.letter])))
    return measured(across), measured(up), found


def _paired(across: Sequence[Point], up: Sequence[Point]) -> list[list[float]]:
    changes = sorted([(point.at, 0, point.value) for point in across] + [(point.at, 1, point.value) for point in up])
    latest: list[float | None] = [None, None]
    found = dict[int, list[float]]()
    for at, which, value in changes:
        latest[which] = value
        if latest[0] is not None and latest[1] is not None:
            found[at] = [latest[0], latest[1]]
    return list(found.values())


def _against(sight: Sight, across: str, up: str, rows: Sequence[tuple[str, list[list[float]]]]) -> dict[str, Any]:
    return base(
        grid={"left": 8, "right": 24, "top": 28, "bottom": 36, "containLabel": True},
        legend={"type": "scroll", "bottom": 0},
        tooltip={"trigger": "item"},
        xAxis=value_axis(name=across, nameLocation="middle", nameGap=24),
        yAxis=value_axis(name=up),
        series=[{"type": "scatter", "name": row or sight.title, "data": data, "symbolSize": 7} for row, data in rows],
    )
