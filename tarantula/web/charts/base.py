"""Options that all charts share, the bar charts of reports, and the value axes of stream charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tarantula.streams.views.cells import ViewColumn, ViewTrack
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.i18n import language

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


INTL_LOCALES = {"en": "en-GB", "pt": "pt-PT"}
# The only code in the options: the name of the language is ours.
NUMBER_FORMATTER = (
    "(value) => [value].flat().map((one) => typeof one === 'number' "
    "? new Intl.NumberFormat('{locale}', {{maximumSignificantDigits: 10}}).format(one) : one ?? '–').join(' · ')"
)


def chart_options(**options: Any) -> dict[str, Any]:
    """Return options with what all charts have."""
    return {
        "color": COLOURS,
        "animation": False,
        "textStyle": {"color": "#0f172a"},
        **options,
        "tooltip": {**TOOLTIP, ":valueFormatter": number_formatter(), **options.get("tooltip", {})},
    }


def value_axis(**options: Any) -> dict[str, Any]:
    """Return an axis of numbers, which shows where they are rather than zero."""
    label = {":formatter": number_formatter(), "hideOverlap": True}
    # Its title begins where the scale is: in the middle of it, a long one would be cut off.
    return {"type": "value", "scale": True, "axisLabel": label, "nameTextStyle": {"align": "left"}, **options}


def number_formatter() -> str:
    """Return the code that writes numbers as the reader's language does."""
    return NUMBER_FORMATTER.format(locale=INTL_LOCALES[language()])


def column_label(column: ViewColumn) -> str:
    """Return what a column is called, with its unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


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
