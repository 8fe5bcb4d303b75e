"""Where on a map values are."""

from __future__ import annotations

from typing import NamedTuple

from tarantula.streams.kinds import Kind
from tarantula.streams.views.config_part_fitting import coordinates
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.format import shown

MOST = 300


class Place(NamedTuple):
    """A point on a map, and what stands beside it."""

    latitude: float
    longitude: float
    name: str
    value: str


def places(sight: Sight) -> list[Place]:
    """Return the rows that say where they are."""
    found = coordinates(sight.columns)
    if found is None:
        return []
    latitude, longitude = found
    others = [column for column in sight.columns if column not in found]
    named = next((column.letter for column in others if column.kind == Kind.TEXT), "")
    valued = next((column for column in others if column.letter != named and column is not sight.naming), None)
    there = list[Place]()
    for record in sight.records[:MOST]:
        up, across = record.cells.get(latitude.letter), record.cells.get(longitude.letter)
        if up is None or across is None or up.number is None or across.number is None:
            continue
        if abs(up.number) <= 90 and abs(across.number) <= 180:
            name = record.row or (record.cells[named].text if named in record.cells else sight.title)
            cell = record.cells.get(valued.letter) if valued is not None else None
            value = shown(cell, valued) if cell is not None and valued is not None else ""
            there.append(Place(up.number, across.number, name, value))
    return there
