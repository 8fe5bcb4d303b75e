"""Places, on a net of degrees: no map of anybody else is asked for."""

from __future__ import annotations

from html import escape

from nicegui import ui

from tarantula.streams.views.sight import Sight
from tarantula.web.drawing.places import Place, places
from tarantula.web.parts.style import tagged
from tarantula.web.words import _

HEIGHT = "18rem"
SPOT = {"radius": 7, "color": "#1d4ed8", "fillOpacity": 0.5}
MOST_LABELS = 12
"""Places whose names stand there all the time; those of more are seen when they are pointed at."""


class Map:
    """Rows that say where they are."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        found = places(sight)
        if not found:
            ui.label(_("No row says where it is."))
            return
        drawn = ui.leaflet(center=_middle(found), zoom=_zoom(found), options={"attributionControl": False})
        drawn.clear_layers()
        drawn.classes("w-full").style(f"height: {HEIGHT}; background: #e2e8f0; z-index: 0")
        drawn.props('role="region"')
        drawn.props["aria-label"] = _("{title}: the same as a table is below.", title=sight.title)
        for line in _net():
            drawn.generic_layer(name="polyline", args=[line, {"color": "#94a3b8", "weight": 1, "interactive": False}])
        spots = [drawn.generic_layer(name="circleMarker", args=[[one.latitude, one.longitude], SPOT]) for one in found]

        def label() -> None:
            for spot, place in zip(spots, found, strict=True):
                # Leaflet takes words for markup.
                words = escape(f"{place.name} {place.value}".strip())
                drawn.run_layer_method(spot.id, "bindTooltip", words, {"permanent": len(found) <= MOST_LABELS})

        drawn.on("init", label)
        with ui.element("ul").classes("m-0 p-0 list-none text-sm w-full"):
            for place in found:
                tagged("li", f"{place.name} {place.value} ({place.latitude:.5g}, {place.longitude:.5g})", "break-words")


def _net() -> list[list[list[float]]]:
    across = [[[float(line), -180.0], [float(line), 180.0]] for line in range(-80, 90, 10)]
    up = [[[-85.0, float(line)], [85.0, float(line)]] for line in range(-180, 190, 10)]
    return [*across, *up]


def _middle(found: list[Place]) -> tuple[float, float]:
    up, across = [one.latitude for one in found], [one.longitude for one in found]
    return (min(up) + max(up)) / 2, (min(across) + max(across)) / 2


def _zoom(found: list[Place]) -> int:
    """Return how near a map is seen, so that every place is on it."""
    up, across = [one.latitude for one in found], [one.longitude for one in found]
    span = max((max(up) - min(up)) * 2, max(across) - min(across), 1.0)
    return next(zoom for zoom in range(8, -1, -1) if 360 / 2**zoom >= span or zoom == 0)
