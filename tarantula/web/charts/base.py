"""Options that all charts share, and the value axes of stream charts."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarantula.streams.views.cells import ViewColumn, ViewTrack
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.i18n import language

COLOURS = ["#1d4ed8", "#b45309", "#047857", "#be123c", "#6d28d9", "#0e7490", "#4d7c0f", "#a21caf", "#475569"]

# Rich text instead of HTML: names of types and servers come from other sites.
TOOLTIP = {"renderMode": "richText", "confine": True}
INTL_LOCALES = {"en": "en-GB", "pt": "pt-PT"}
# The only code in chart options; the locale is one of ours.
NUMBER_FORMATTER = (
    "(value) => [value].flat().map((one) => typeof one === 'number' "
    "? new Intl.NumberFormat('{locale}', {{maximumSignificantDigits: 10}}).format(one) : one ?? '–').join(' · ')"
)


def chart_options(**options: Any) -> dict[str, Any]:
    """Return *options* with the defaults of all charts."""
    return {
        "color": COLOURS,
        "animation": False,
        "textStyle": {"color": "#0f172a"},
        **options,
        "tooltip": {**TOOLTIP, ":valueFormatter": number_formatter(), **options.get("tooltip", {})},
    }


def value_axis(**options: Any) -> dict[str, Any]:
    """Return a numeric axis that need not start at zero."""
    label = {":formatter": number_formatter(), "hideOverlap": True}
    # Left-aligned, since a long centred title would be cut off.
    return {"type": "value", "scale": True, "axisLabel": label, "nameTextStyle": {"align": "left"}, **options}


def number_formatter() -> str:
    """Return JavaScript that formats numbers in the reader's language."""
    return NUMBER_FORMATTER.format(locale=INTL_LOCALES[language()])


def column_label(column: ViewColumn) -> str:
    """Return the title of a column with its unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


LEGEND = {"type": "scroll", "bottom": 0}
MAX_SHARED_UNITS = 2
"""Units that share a panel, on the left and right axis; with more, each unit has its own panel."""
CHART_HEIGHT, PANEL_HEIGHT, TOP_MARGIN, BOTTOM_MARGIN, PANEL_GAP = 288, 112, 30, 62, 34
"""Pixels: chart, panel, margin above and below the panels, gap between two panels."""
LEFT, RIGHT = 52, 16


class ChartScales(NamedTuple):
    """Units of a chart, one value axis for each."""

    units: list[str]
    columns: list[ViewColumn]

    @property
    def panels(self) -> int:
        """Number of panels, one below the other."""
        return 1 if len(self.units) <= MAX_SHARED_UNITS else len(self.units)

    @property
    def height(self) -> int:
        """Total height in pixels."""
        return (
            CHART_HEIGHT
            if self.panels == 1
            else TOP_MARGIN + BOTTOM_MARGIN + self.panels * PANEL_HEIGHT + (self.panels - 1) * PANEL_GAP
        )

    def grids(self, *, legend: bool) -> list[dict[str, Any]]:
        """Return the ECharts grid of each panel."""
        if self.panels == 1:
            return [{"left": 8, "right": 12, "top": TOP_MARGIN, "bottom": 36 if legend else 8, "containLabel": True}]
        # Equal left edges, so that the time axes line up.
        return [
            {
                "left": LEFT,
                "right": RIGHT,
                "top": TOP_MARGIN + panel * (PANEL_HEIGHT + PANEL_GAP),
                "height": PANEL_HEIGHT,
            }
            for panel in range(self.panels)
        ]

    def axes(self) -> list[dict[str, Any]]:
        """Return the value axis of each unit."""
        return [
            {
                "gridIndex": index if self.panels > 1 else 0,
                "name": self._axis_label(unit),
                "nameGap": 10,
                "nameTextStyle": {"align": "right" if index == 1 and self.panels == 1 else "left"},
                "splitNumber": 3 if self.panels > 1 else 5,
            }
            for index, unit in enumerate(self.units)
        ]

    def axis_indexes(self, track: ViewTrack) -> dict[str, int]:
        """Return the axis indexes of a track."""
        index = self.units.index(track.column.unit)
        return {"xAxisIndex": index if self.panels > 1 else 0, "yAxisIndex": index}

    def track_name(self, track: ViewTrack) -> str:
        """Return the shortest name of a track that is unique in the chart."""
        if track.row and len(self.columns) == 1:
            return track.row
        return f"{track.title} ({track.column.unit})" if len(self.units) > 1 and track.column.unit else track.title

    def _axis_label(self, unit: str) -> str:
        own = [column for column in self.columns if column.unit == unit]
        return column_label(own[0]) if len(own) == 1 else unit


def scales_of(projection: ViewProjection) -> ChartScales:
    """Return the units and columns that a view draws."""
    columns = list(dict.fromkeys(track.column for track in projection.tracks))
    return ChartScales(list(dict.fromkeys(column.unit for column in columns)) or [""], columns)
