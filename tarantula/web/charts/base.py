"""On which scale each track of a chart is drawn: one for each unit, beside one another or one below the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarantula.streams.views.cells import ViewColumn, ViewTrack
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.base_part_common import column_label

LEGEND = {"type": "scroll", "bottom": 0}
MAX_SHARED_UNITS = 2
"""Units that share a panel, one on the left and one on the right; more have a panel each."""
HIGH, PANEL, HEAD, FOOT, GAP = 288, 112, 30, 62, 34
"""Pixels: of a chart, of a panel, of what is above and below them, and between two."""
LEFT, RIGHT = 52, 16


class ChartScales(NamedTuple):
    """The units of a chart."""

    units: list[str]
    columns: list[ViewColumn]

    @property
    def panels(self) -> int:
        """How many there are, one below the other."""
        return 1 if len(self.units) <= MAX_SHARED_UNITS else len(self.units)

    @property
    def height(self) -> int:
        """How high the whole is, in pixels."""
        return HIGH if self.panels == 1 else HEAD + FOOT + self.panels * PANEL + (self.panels - 1) * GAP

    def grids(self, *, legend: bool) -> list[dict[str, Any]]:
        """Return where the panels are."""
        if self.panels == 1:
            return [{"left": 8, "right": 12, "top": HEAD, "bottom": 36 if legend else 8, "containLabel": True}]
        # With the same left edge: what happened at one moment stands below one another.
        return [
            {"left": LEFT, "right": RIGHT, "top": HEAD + panel * (PANEL + GAP), "height": PANEL}
            for panel in range(self.panels)
        ]

    def axes(self) -> list[dict[str, Any]]:
        """Return the scales, each with what it measures."""
        return [
            {
                "gridIndex": place if self.panels > 1 else 0,
                "name": self._measures(unit),
                "nameGap": 10,
                "nameTextStyle": {"align": "right" if place == 1 and self.panels == 1 else "left"},
                "splitNumber": 3 if self.panels > 1 else 5,
            }
            for place, unit in enumerate(self.units)
        ]

    def place(self, track: ViewTrack) -> dict[str, int]:
        """Return where a track is drawn."""
        place = self.units.index(track.column.unit)
        return {"xAxisIndex": place if self.panels > 1 else 0, "yAxisIndex": place}

    def name(self, track: ViewTrack) -> str:
        """Return what a track is called: as little as tells it from the others."""
        if track.row and len(self.columns) == 1:
            return track.row
        return f"{track.title} ({track.column.unit})" if len(self.units) > 1 and track.column.unit else track.title

    def _measures(self, unit: str) -> str:
        own = [column for column in self.columns if column.unit == unit]
        return column_label(own[0]) if len(own) == 1 else unit


def scales_of(sight: ViewProjection) -> ChartScales:
    """Return the scales of what is drawn."""
    columns = list(dict.fromkeys(track.column for track in sight.tracks))
    return ChartScales(list(dict.fromkeys(column.unit for column in columns)) or [""], columns)
