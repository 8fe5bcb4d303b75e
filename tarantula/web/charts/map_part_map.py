"""Places, on a net of degrees: no map of anybody else is asked for."""

from __future__ import annotations

from html import escape

from nicegui import ui

from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.map import bounds_of, grid_lines
from tarantula.web.charts.map_part_places import MapPlace, map_places
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.format import format_plain_number
from tarantula.web.i18n import _

MAP_HEIGHT = "18rem"
PLACE_STYLE = {"radius": 7, "color": "#1d4ed8", "fillOpacity": 0.5}
GRID_STYLE = {"color": "#94a3b8", "weight": 1, "interactive": False}
LABEL_ANCHOR_STYLE = {"radius": 0, "stroke": False, "interactive": False}
INITIAL_ZOOM = 4
"""How near a map is seen before it knows how large it is."""
MAX_PERMANENT_LABELS = 12
"""Places whose names stand there all the time; those of more are seen when they are pointed at."""
FIT_OPTIONS = {"padding": [36, 36], "maxZoom": 12}


class MapBody:
    """Rows that say where they are."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        found = map_places(sight)
        if not found:
            ui.label(_("No row says where it is."))
            return
        self._draw(sight.title, found)
        with ui.element("ul").classes("m-0 mt-1 p-0 list-none text-sm w-full max-h-40 overflow-y-auto"):
            for place in found:
                where = " · ".join(format_plain_number(degrees) for degrees in (place.latitude, place.longitude))
                text_element("li", f"{place.name} {place.value} ({where})", "break-words")

    def _draw(self, title: str, found: list[MapPlace]) -> None:
        bounds = bounds_of(found)
        (south, west), (north, east) = bounds.corners
        middle = ((south + north) / 2, (west + east) / 2)
        drawn = ui.leaflet(center=middle, zoom=INITIAL_ZOOM, options={"attributionControl": False})
        drawn.clear_layers()
        drawn.classes("w-full").style(f"height: {MAP_HEIGHT}; background: #e2e8f0; z-index: 0")
        drawn.props('role="region"')
        drawn.props["aria-label"] = _("{title}: the same as a table is below.", title=title)
        lines = grid_lines(bounds)
        for line in lines:
            drawn.generic_layer(name="polyline", args=[line.ends, GRID_STYLE])
        marks = [drawn.generic_layer(name="circleMarker", args=[line.label_at, LABEL_ANCHOR_STYLE]) for line in lines]
        spots = [
            drawn.generic_layer(name="circleMarker", args=[[one.latitude, one.longitude], PLACE_STYLE]) for one in found
        ]

        def label() -> None:
            drawn.run_map_method("fitBounds", bounds.corners, FIT_OPTIONS)
            for mark, line in zip(marks, lines, strict=True):
                words = {"permanent": True, "direction": "center", "className": "net-label"}
                drawn.run_layer_method(mark.id, "bindTooltip", line.label, words)
            for spot, place, side in zip(spots, found, _sides(found), strict=True):
                # Leaflet takes words for markup.
                words = {"permanent": len(found) <= MAX_PERMANENT_LABELS, "direction": side}
                drawn.run_layer_method(spot.id, "bindTooltip", escape(f"{place.name} {place.value}".strip()), words)

        drawn.on("init", label)


def _sides(found: list[MapPlace]) -> list[str]:
    """Return on which side of its spot each name stands: by turns from north to south, so that neighbours have room."""
    order = sorted(range(len(found)), key=lambda number: -found[number].latitude)
    sides = {number: ("right", "left")[place % 2] for place, number in enumerate(order)}
    return [sides[number] for number in range(len(found))]
