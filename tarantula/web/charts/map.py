"""A net of degrees around places, which tells where they are without a map of anybody else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tarantula.web.charts.map_part_places import MapPlace

GRID_STEPS_DEGREES = (30.0, 15.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Degrees between two lines."""
MIN_GRID_LINES = 1.5
"""At least as many across the places; a card is wider than they are."""
GRID_REACH = 3
"""How often what is seen fits beside itself, to each side, with lines on it."""
FURTHEST_UP, FURTHEST_ACROSS = 85.0, 180.0
MIN_SPAN_DEGREES = 0.05
"""Degrees that are seen at least: one place alone has no extent."""


class MapBounds(NamedTuple):
    """What is seen, in degrees."""

    south: float
    west: float
    north: float
    east: float

    @property
    def corners(self) -> list[list[float]]:
        """As Leaflet has them."""
        return [[self.south, self.west], [self.north, self.east]]


class GridLine(NamedTuple):
    """A line of the net, and what is written on it."""

    ends: list[list[float]]
    label: str
    label_at: list[float]


def bounds_of(found: Sequence[MapPlace]) -> MapBounds:
    """Return what has to be seen for every place to be."""
    up, across = [one.latitude for one in found], [one.longitude for one in found]
    half = max((max(up) - min(up)) / 2, (max(across) - min(across)) / 2, MIN_SPAN_DEGREES / 2) * 1.1
    middle_up, middle_across = (min(up) + max(up)) / 2, (min(across) + max(across)) / 2
    return MapBounds(middle_up - half, middle_across - half, middle_up + half, middle_across + half)


def grid_lines(bounds: MapBounds) -> list[GridLine]:
    """Return the lines around what is seen, as far apart as leaves a few of them on it."""
    span = bounds.north - bounds.south
    step = next((step for step in GRID_STEPS_DEGREES if span / step >= MIN_GRID_LINES), GRID_STEPS_DEGREES[-1])
    reach = span * GRID_REACH
    south, north = max(bounds.south - reach, -FURTHEST_UP), min(bounds.north + reach, FURTHEST_UP)
    west, east = max(bounds.west - reach, -FURTHEST_ACROSS), min(bounds.east + reach, FURTHEST_ACROSS)
    up = [
        GridLine([[at, west], [at, east]], _degrees(at, step, "N", "S"), [at, bounds.west])
        for at in _between(south, north, step)
    ]
    across = [
        GridLine([[south, at], [north, at]], _degrees(at, step, "E", "W"), [bounds.south, at])
        for at in _between(west, east, step)
    ]
    return [*up, *across]


def _between(least: float, most: float, step: float) -> list[float]:
    return [round(number * step, 4) for number in range(math.ceil(least / step), math.floor(most / step) + 1)]


def _degrees(at: float, step: float, above: str, below: str) -> str:
    figures = max(0, math.ceil(-math.log10(step)))
    return f"{abs(at):.{figures}f}° {above if at > 0 else below if at < 0 else ''}".rstrip()
