"""Diagrams of what belongs to what."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.charts.base import chart_options

MAX_RECORDS = 60
SMALLEST, LARGEST = 10.0, 36.0
FULL_SIZE_NODES = 40
"""Nodes that have room on a card; more of them are smaller."""
MAX_LABELLED_NODES = 90
"""Nodes whose names can be read beside one another; those of more are seen when they are pointed at."""
NodeKey = tuple[str, ...]


class NetworkNode(NamedTuple):
    """Something that belongs to something; two may have the same name."""

    key: NodeKey
    name: str


class NetworkLink(NamedTuple):
    """That it does."""

    start: NetworkNode
    end: NetworkNode
    weight: float


def network_chart(sight: ViewProjection) -> dict[str, Any]:
    """Return what two columns of words lead from and to; with fewer, the sources with their rows and values."""
    words = [column for column in sight.informative if column.kind in (ValueKind.TEXT, ValueKind.URL)]
    led = len(words) > 1
    links = _between(sight, words[0].letter, words[1].letter) if led else _around(sight)
    sizes, names = dict[NodeKey, float](), dict[NodeKey, str]()
    for link in links:
        names[link.start.key], names[link.end.key] = link.start.name, link.end.name
        sizes.setdefault(link.start.key, 0.0)
        sizes[link.end.key] = sizes.get(link.end.key, 0.0) + abs(link.weight)
    largest = max(sizes.values(), default=0.0) or 1.0
    shrunk = min(1.0, FULL_SIZE_NODES / max(len(sizes), 1)) ** 0.5
    places = {key: str(place) for place, key in enumerate(sizes)}
    nodes = [
        {"id": places[key], "name": names[key], "symbolSize": shrunk * _size(size / largest)}
        for key, size in sizes.items()
    ]
    drawn = [{"source": places[link.start.key], "target": places[link.end.key], "value": link.weight} for link in links]
    return chart_options(
        tooltip={"trigger": "item"},
        series=[
            {
                "type": "graph",
                "layout": "force",
                "roam": False,
                "draggable": True,
                "left": 24,
                "right": 72,
                "top": 16,
                "bottom": 16,
                "edgeSymbol": ["none", "arrow" if led else "none"],
                "edgeSymbolSize": 7,
                "lineStyle": {"color": "#64748b", "curveness": 0.1 if led else 0},
                "label": {
                    "show": len(nodes) <= MAX_LABELLED_NODES,
                    "position": "right",
                    "width": 110,
                    "overflow": "truncate",
                },
                "emphasis": {"label": {"show": True}},
                "labelLayout": {"hideOverlap": True},
                "force": {**_forces(len(nodes)), "layoutAnimation": False},
                "data": nodes,
                "links": drawn,
            }
        ],
    )


def _size(share: float) -> float:
    return SMALLEST + (LARGEST - SMALLEST) * float(share**0.5)


def _forces(nodes: int) -> dict[str, float]:
    """Return how strongly parts push each other away: the more there are, the less, so that all stay on the picture."""
    crowd = max(nodes, 1) ** 0.5
    return {"repulsion": min(160.0, 520 / crowd), "edgeLength": min(60.0, 200 / crowd), "gravity": 0.15}


def _between(sight: ViewProjection, start: str, end: str) -> list[NetworkLink]:
    numbers = [column.letter for column in sight.columns if column.kind.is_number and column.kind != ValueKind.MOMENT]
    found = list[NetworkLink]()
    for record in sight.records[:MAX_RECORDS]:
        if start in record.cells and end in record.cells:
            weight = record.cells.get(numbers[0]) if numbers else None
            number = weight.number if weight is not None and weight.number is not None else 1.0
            found.append(NetworkLink(_word(record.cells[start].text), _word(record.cells[end].text), number))
    return found


def _around(sight: ViewProjection) -> list[NetworkLink]:
    """Return every source with its rows, and these with their values."""
    titles = {seen.name: seen.title for seen in sight.sources}
    found = list[NetworkLink]()
    for record in sight.records[:MAX_RECORDS]:
        for column in sight.informative:
            cell = record.cells.get(column.letter)
            if cell is not None:
                middle = NetworkNode(("source", column.source), titles.get(column.source, sight.title))
                weight = cell.number if cell.number is not None else 1.0
                if record.row:
                    row = NetworkNode((*middle.key, record.row), record.row)
                    # One value alone is as large as its row.
                    alone = len(sight.informative) == 1
                    found.append(NetworkLink(middle, row, weight if alone else 0.0))
                    if alone:
                        continue
                    middle = row
                found.append(
                    NetworkLink(middle, NetworkNode((*middle.key, "value", column.letter), column.title), weight)
                )
    return list(dict.fromkeys(found))


def _word(text: str) -> NetworkNode:
    return NetworkNode((text,), text)
