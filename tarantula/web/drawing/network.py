"""Diagrams of what belongs to what."""

from __future__ import annotations

from typing import Any

from tarantula.streams.kinds import Kind
from tarantula.streams.views.sight import Sight
from tarantula.web.drawing.common import base

MOST = 150
SMALLEST, LARGEST = 12.0, 44.0


def network(sight: Sight) -> dict[str, Any]:
    """Return what two columns of words lead from and to; with fewer, the sources with their rows and values."""
    words = [column for column in sight.columns if column.kind in (Kind.TEXT, Kind.URL)]
    links = _between(sight, words[0].letter, words[1].letter) if len(words) > 1 else _around(sight)
    sizes = dict[str, float]()
    for one, other, weight in links:
        sizes.setdefault(one, 0.0)
        sizes[other] = sizes.get(other, 0.0) + abs(weight)
    largest = max(sizes.values(), default=0.0) or 1.0
    nodes = [
        {"id": str(place), "name": name, "symbolSize": SMALLEST + (LARGEST - SMALLEST) * (size / largest) ** 0.5}
        for place, (name, size) in enumerate(sizes.items())
    ]
    places = {name: str(place) for place, name in enumerate(sizes)}
    return base(
        tooltip={"trigger": "item"},
        series=[
            {
                "type": "graph",
                "layout": "force",
                "roam": False,
                "draggable": True,
                "label": {"show": True, "position": "right", "width": 110, "overflow": "truncate"},
                "force": {"repulsion": 120, "edgeLength": 70, "layoutAnimation": False},
                "data": nodes,
                "links": [
                    {"source": places[one], "target": places[other], "value": weight} for one, other, weight in links
                ],
            }
        ],
    )


def _between(sight: Sight, start: str, end: str) -> list[tuple[str, str, float]]:
    numbers = [column.letter for column in sight.columns if column.kind.is_number and column.kind != Kind.MOMENT]
    found = list[tuple[str, str, float]]()
    for record in sight.records[:MOST]:
        if start in record.cells and end in record.cells:
            weight = record.cells.get(numbers[0]) if numbers else None
            number = weight.number if weight is not None and weight.number is not None else 1.0
            found.append((record.cells[start].text, record.cells[end].text, number))
    return found


def _around(sight: Sight) -> list[tuple[str, str, float]]:
    titles = {seen.name: seen.title for seen in sight.sources}
    found = list[tuple[str, str, float]]()
    for record in sight.records[:MOST]:
        for column in sight.columns:
            cell = record.cells.get(column.letter)
            if cell is not None:
                name = f"{record.row} · {column.title}" if record.row else column.title
                middle = titles.get(column.source, sight.title)
                found.append((middle, name, cell.number if cell.number is not None else 1.0))
    return found
