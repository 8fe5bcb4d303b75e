"""Where on a map values are."""

from __future__ import annotations

from typing import NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.config_part_fitting import coordinate_columns
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.format import format_cell

MAX_PLACES = 300


class MapPlace(NamedTuple):
    """A point on a map, and what stands beside it."""

    latitude: float
    longitude: float
    name: str
    value: str


def map_places(sight: ViewProjection) -> list[MapPlace]:
    """Return the rows that say where they are."""
    found = coordinate_columns(sight.columns)
    if found is None:
        return []
    latitude, longitude = found
    others = [column for column in sight.columns if column not in found]
    named = next((column.letter for column in others if column.kind == ValueKind.TEXT), "")
    valued = next((column for column in others if column.letter != named and column is not sight.naming), None)
    there = list[MapPlace]()
    for record in sight.records[:MAX_PLACES]:
        up, across = record.cells.get(latitude.letter), record.cells.get(longitude.letter)
        if up is None or across is None or up.number is None or across.number is None:
            continue
        if abs(up.number) <= 90 and abs(across.number) <= 180:
            name = record.row or (record.cells[named].text if named in record.cells else sight.title)
            cell = record.cells.get(valued.letter) if valued is not None else None
            value = format_cell(cell, valued) if cell is not None and valued is not None else ""
            there.append(MapPlace(up.number, across.number, name, value))
    return there
