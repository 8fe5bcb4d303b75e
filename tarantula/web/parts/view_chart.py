"""What ECharts draws of a view; a window of time can be dragged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from tarantula.streams.views.fitting import IN_TIME
from tarantula.streams.views.sight import Sight
from tarantula.streams.views.view import ViewKind
from tarantula.web.drawing import shares
from tarantula.web.drawing.in_time import in_time, series
from tarantula.web.drawing.network import network
from tarantula.web.words import _

HEIGHT = "18rem"
Dragged = Callable[[int, int], Awaitable[None]]
# Only what somebody drags has a batch; what the server asked for is no news to it.
DRAGGED = """(event) => {{
  const shown = event.batch && getElement({0}).chart?.getOption().dataZoom?.[0];
  if (shown) emit([shown.startValue, shown.endValue]);
}}"""
AT_MOST_EVERY = 0.12
"""Seconds between two places to which a window is dragged."""
SHARES: Mapping[ViewKind, Callable[[Sight], dict[str, Any]]] = {
    ViewKind.BAR: shares.bar,
    ViewKind.PIE: shares.pie,
    ViewKind.GAUGE: shares.gauge,
    ViewKind.TREEMAP: shares.treemap,
    ViewKind.NETWORK: network,
}


class Chart:
    """A chart that is drawn once, and then changed."""

    def __init__(self, dragged: Dragged) -> None:
        self._dragged = dragged
        self._chart: ui.echart | None = None

    def show(self, sight: Sight) -> None:
        """Show a view, in the chart that is there or in a new one."""
        options = self._options(sight)
        if self._chart is not None and len(self._chart.options["series"]) == len(options["series"]):
            self._chart.options.clear()
            self._chart.options.update(options)
            self._chart.update()
            return
        if self._chart is not None:
            self._chart.delete()
        self._chart = ui.echart(options).classes("w-full").style(f"height: {HEIGHT}; touch-action: pan-y")
        self._chart.props('role="img"')
        self._chart.props["aria-label"] = _("{title}: the same as a table is below.", title=sight.title)
        if "dataZoom" in options:
            moved = DRAGGED.format(self._chart.id)
            self._chart.on("chart:datazoom", self._drag, js_handler=moved, throttle=AT_MOST_EVERY)

    def fill(self, sight: Sight) -> None:
        """Put data into the window that somebody is dragging, and leave the window to them."""
        if self._chart is None or len(self._chart.options["series"]) != len(sight.tracks):
            self.show(sight)
            return
        # The options stay as they are: to change them would send the window along.
        self._chart.run_chart_method("setOption", {"series": series(sight)})

    async def _drag(self, event: GenericEventArguments) -> None:
        begin, end = event.args
        await self._dragged(int(begin * 1000), int(end * 1000))

    def _options(self, sight: Sight) -> dict[str, Any]:
        return in_time(sight) if sight.view.kind in IN_TIME else SHARES[sight.view.kind](sight)
