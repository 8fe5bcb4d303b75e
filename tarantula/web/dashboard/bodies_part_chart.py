"""What ECharts draws of a view; a window of time can be dragged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.config_part_fitting import TIME_KINDS
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.base import HIGH, scales_of
from tarantula.web.charts.categories import bar_chart, pie_chart, treemap_chart
from tarantula.web.charts.categories_part_gauges import gauge_chart
from tarantula.web.charts.network import network_chart
from tarantula.web.charts.timeline import scatter_pairs, time_limits, timeline_chart, timeline_series
from tarantula.web.i18n import _

DragHandler = Callable[[int, int], Awaitable[None]]
# Only what somebody drags has a batch; what the server asked for is no news to it.
DRAG_SCRIPT = """(event) => {{
  const shown = event.batch && getElement({0}).chart?.getOption().dataZoom?.[0];
  if (shown) emit([shown.startValue, shown.endValue]);
}}"""
DRAG_THROTTLE_SECONDS = 0.12
"""Seconds between two places to which a window is dragged."""
CATEGORY_CHARTS: Mapping[ViewKind, Callable[[ViewProjection], dict[str, Any]]] = {
    ViewKind.BAR: bar_chart,
    ViewKind.PIE: pie_chart,
    ViewKind.GAUGE: gauge_chart,
    ViewKind.TREEMAP: treemap_chart,
    ViewKind.NETWORK: network_chart,
}


class ChartBody:
    """A chart that is drawn once, and then changed."""

    def __init__(self, dragged: DragHandler) -> None:
        self._dragged = dragged
        self._chart: ui.echart | None = None

    def show(self, sight: ViewProjection) -> None:
        """Show a view, in the chart that is there or in a new one."""
        options = self._options(sight)
        if self._chart is not None and _shape(self._chart.options) == _shape(options):
            self._chart.options.clear()
            self._chart.options.update(options)
            self._chart.update()
            return
        if self._chart is not None:
            self._chart.delete()
        self._chart = ui.echart(options).classes("w-full").style(f"height: {_height(sight)}px; touch-action: pan-y")
        self._chart.props('role="img"')
        self._chart.props["aria-label"] = _("{title}: the same as a table is below.", title=sight.title)
        if "dataZoom" in options:
            moved = DRAG_SCRIPT.format(self._chart.id)
            self._chart.on("chart:datazoom", self._drag, js_handler=moved, throttle=DRAG_THROTTLE_SECONDS)

    def fill(self, sight: ViewProjection) -> None:
        """Put data into the window that somebody is dragging, and leave the window to them."""
        if self._chart is None or len(self._chart.options["series"]) != len(sight.tracks):
            self.show(sight)
            return
        # The options stay as they are: to change them would send the window along.
        self._chart.run_chart_method("setOption", {"series": timeline_series(sight)})

    def move(self, begin: int, end: int) -> None:
        """Show another window of the same data."""
        if self._chart is not None:
            panels = len(self._chart.options["xAxis"])
            axes = [time_limits(begin, end) for _panel in range(panels)]
            zoom = {"startValue": begin // 1000, "endValue": end // 1000}
            self._chart.run_chart_method("setOption", {"xAxis": axes, "dataZoom": [zoom]})

    async def _drag(self, event: GenericEventArguments) -> None:
        begin, end = event.args
        await self._dragged(int(begin * 1000), int(end * 1000))

    def _options(self, sight: ViewProjection) -> dict[str, Any]:
        return timeline_chart(sight) if sight.view.kind in TIME_KINDS else CATEGORY_CHARTS[sight.view.kind](sight)


def is_draggable(sight: ViewProjection) -> bool:
    """Whether a view shows time from left to right."""
    return sight.view.kind in TIME_KINDS and (sight.view.kind != ViewKind.SCATTER or scatter_pairs(sight) is None)


def _shape(options: Mapping[str, Any]) -> tuple[int, int]:
    """Return what a chart cannot change while it is there: how many series it has, and how many panels."""
    grids = options.get("grid")
    return len(options["series"]), len(grids) if isinstance(grids, list) else 1


def _height(sight: ViewProjection) -> int:
    return scales_of(sight).height if is_draggable(sight) else HIGH
