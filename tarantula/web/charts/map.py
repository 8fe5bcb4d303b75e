"""Maps: rows with coordinates, drawn over a grid of latitude and longitude without external tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from nicegui import ui

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.config import coordinate_columns
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.components.elements import text_element
from tarantula.web.i18n import _, format_cell, format_plain_number

MAX_PLACES = 300


class MapPlace(NamedTuple):
    """A point on a map with its label."""

    latitude: float
    longitude: float
    name: str
    value: str


def map_places(projection: ViewProjection) -> list[MapPlace]:
    """Return the rows that have coordinates."""
    found = coordinate_columns(projection.columns)
    if found is None:
        return []
    latitude, longitude = found
    others = [column for column in projection.columns if column not in found]
    named = next((column.letter for column in others if column.kind == ValueKind.TEXT), "")
    valued = next((column for column in others if column.letter != named and column is not projection.naming), None)
    located = list[MapPlace]()
    for record in projection.records[:MAX_PLACES]:
        up, across = record.cells.get(latitude.letter), record.cells.get(longitude.letter)
        if up is None or across is None or up.number is None or across.number is None:
            continue
        if abs(up.number) <= 90 and abs(across.number) <= 180:
            name = record.row or (record.cells[named].text if named in record.cells else projection.title)
            cell = record.cells.get(valued.letter) if valued is not None else None
            value = format_cell(cell, valued) if cell is not None and valued is not None else ""
            located.append(MapPlace(up.number, across.number, name, value))
    return located


GRID_STEPS_DEGREES = (30.0, 15.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Degrees between two grid lines."""
MIN_GRID_LINES = 1.5
"""Minimum number of grid lines across the places; a card is wider than they are."""
GRID_REACH = 3
"""How far the grid extends on each side, in multiples of the visible span."""
MAX_LATITUDE, MAX_LONGITUDE = 85.0, 180.0
MIN_SPAN_DEGREES = 0.05
"""Minimum visible span; a single place has no extent."""


class MapBounds(NamedTuple):
    """Visible area in degrees."""

    south: float
    west: float
    north: float
    east: float

    @property
    def corners(self) -> list[list[float]]:
        """South-west and north-east corner, as Leaflet expects them."""
        return [[self.south, self.west], [self.north, self.east]]


class GridLine(NamedTuple):
    """A grid line with its label."""

    ends: list[list[float]]
    label: str
    label_at: list[float]


def bounds_of(found: Sequence[MapPlace]) -> MapBounds:
    """Return the square that contains all places."""
    up, across = [one.latitude for one in found], [one.longitude for one in found]
    half = max((max(up) - min(up)) / 2, (max(across) - min(across)) / 2, MIN_SPAN_DEGREES / 2) * 1.1
    middle_up, middle_across = (min(up) + max(up)) / 2, (min(across) + max(across)) / 2
    return MapBounds(middle_up - half, middle_across - half, middle_up + half, middle_across + half)


def grid_lines(bounds: MapBounds) -> list[GridLine]:
    """Return the grid lines around the visible area, with a spacing that leaves a few of them visible."""
    span = bounds.north - bounds.south
    step = next((step for step in GRID_STEPS_DEGREES if span / step >= MIN_GRID_LINES), GRID_STEPS_DEGREES[-1])
    reach = span * GRID_REACH
    south, north = max(bounds.south - reach, -MAX_LATITUDE), min(bounds.north + reach, MAX_LATITUDE)
    west, east = max(bounds.west - reach, -MAX_LONGITUDE), min(bounds.east + reach, MAX_LONGITUDE)
    up = [
        GridLine([[at, west], [at, east]], _degree_label(at, step, "N", "S"), [at, bounds.west])
        for at in _multiples(south, north, step)
    ]
    across = [
        GridLine([[south, at], [north, at]], _degree_label(at, step, "E", "W"), [bounds.south, at])
        for at in _multiples(west, east, step)
    ]
    return [*up, *across]


def _multiples(least: float, most: float, step: float) -> list[float]:
    return [round(number * step, 4) for number in range(math.ceil(least / step), math.floor(most / step) + 1)]


def _degree_label(at: float, step: float, above: str, below: str) -> str:
    figures = max(0, math.ceil(-math.log10(step)))
    return f"{abs(at):.{figures}f}° {above if at > 0 else below if at < 0 else ''}".rstrip()


MAP_HEIGHT = "18rem"
PLACE_STYLE = {"radius": 7, "color": "#1d4ed8", "fillOpacity": 0.5}
GRID_STYLE = {"color": "#94a3b8", "weight": 1, "interactive": False}
LABEL_ANCHOR_STYLE = {"radius": 0, "stroke": False, "interactive": False}
INITIAL_ZOOM = 4
"""Zoom level until the size of the map is known."""
MAX_PERMANENT_LABELS = 12
"""Up to this number of places the labels are always visible; with more, only on hover."""
FIT_OPTIONS = {"padding": [36, 36], "maxZoom": 12}


class MapBody:
    """A map of the rows with coordinates, and the same places as a list."""

    def show(self, projection: ViewProjection) -> None:
        """Draw a view."""
        found = map_places(projection)
        if not found:
            ui.label(_("No row has coordinates."))
            return
        self._draw(projection.title, found)
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
        drawn.props["aria-label"] = _("{title}. The same data is in the table below.", title=title)
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
                options = {"permanent": True, "direction": "center", "className": "net-label"}
                drawn.run_layer_method(mark.id, "bindTooltip", line.label, options)
            for spot, place, side in zip(spots, found, _label_sides(found), strict=True):
                # Leaflet reads tooltips as HTML.
                options = {"permanent": len(found) <= MAX_PERMANENT_LABELS, "direction": side}
                drawn.run_layer_method(spot.id, "bindTooltip", escape(f"{place.name} {place.value}".strip()), options)

        drawn.on("init", label)


def _label_sides(found: list[MapPlace]) -> list[str]:
    """Return the label side of each place, alternating from north to south so that neighbours do not overlap."""
    order = sorted(range(len(found)), key=lambda number: -found[number].latitude)
    sides = {number: ("right", "left")[place % 2] for place, number in enumerate(order)}
    return [sides[number] for number in range(len(found))]
