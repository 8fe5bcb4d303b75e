"""Where on a map values are."""

from __future__ import annotations

from typing import NamedTuple

from tarantula.streams.kinds import Kind
from tarantula.streams.views.fitting import coordinates
from tarantula.streams.views.sight import Sight

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
    valued = next((column.letter for column in others if column.letter != named), "")
    shown = list[Place]()
    for record in sight.records[:MOST]:
        up, across = record.cells.get(latitude.letter), record.cells.get(longitude.letter)
        if up is None or across is None or up.number is None or across.number is None:
            continue
        if abs(up.number) <= 90 and abs(across.number) <= 180:
            name = record.row or (record.cells[named].text if named in record.cells else sight.title)
            value = record.cells[valued].text if valued in record.cells else ""
            shown.append(Place(up.number, across.number, name, value))
    return shown
