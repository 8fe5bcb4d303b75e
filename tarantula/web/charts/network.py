"""Network diagrams: links between values, or sources with their rows and values."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.charts.base import chart_options

MAX_RECORDS = 60
MIN_NODE_SIZE, MAX_NODE_SIZE = 10.0, 36.0
FULL_SIZE_NODES = 40
"""Number of nodes drawn at full size; with more, nodes are smaller."""
MAX_LABELLED_NODES = 90
"""Maximum number of nodes with permanent labels; with more, labels appear on hover."""
NodeKey = tuple[str, ...]


class NetworkNode(NamedTuple):
    """A node; several nodes may have the same name."""

    key: NodeKey
    name: str


class NetworkLink(NamedTuple):
    """A weighted link between two nodes."""

    start: NetworkNode
    end: NetworkNode
    weight: float


def network_chart(projection: ViewProjection) -> dict[str, Any]:
    """Return options of a graph from the first to the second text column; with fewer, of sources, rows and values."""
    text_columns = [column for column in projection.informative if column.kind in (ValueKind.TEXT, ValueKind.URL)]
    is_directed = len(text_columns) > 1
    links = (
        _column_links(projection, text_columns[0].letter, text_columns[1].letter)
        if is_directed
        else _source_links(projection)
    )
    sizes, names = dict[NodeKey, float](), dict[NodeKey, str]()
    for link in links:
        names[link.start.key], names[link.end.key] = link.start.name, link.end.name
        sizes.setdefault(link.start.key, 0.0)
        sizes[link.end.key] = sizes.get(link.end.key, 0.0) + abs(link.weight)
    largest = max(sizes.values(), default=0.0) or 1.0
    scale = min(1.0, FULL_SIZE_NODES / max(len(sizes), 1)) ** 0.5
    node_ids = {key: str(index) for index, key in enumerate(sizes)}
    nodes = [
        {"id": node_ids[key], "name": names[key], "symbolSize": scale * _size(size / largest)}
        for key, size in sizes.items()
    ]
    drawn = [
        {"source": node_ids[link.start.key], "target": node_ids[link.end.key], "value": link.weight} for link in links
    ]
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
                "edgeSymbol": ["none", "arrow" if is_directed else "none"],
                "edgeSymbolSize": 7,
                "lineStyle": {"color": "#64748b", "curveness": 0.1 if is_directed else 0},
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
    return MIN_NODE_SIZE + (MAX_NODE_SIZE - MIN_NODE_SIZE) * float(share**0.5)


def _forces(nodes: int) -> dict[str, float]:
    """Return the layout forces; they get weaker with more nodes, so that all stay visible."""
    crowd = max(nodes, 1) ** 0.5
    return {"repulsion": min(160.0, 520 / crowd), "edgeLength": min(60.0, 200 / crowd), "gravity": 0.15}


def _column_links(projection: ViewProjection, start: str, end: str) -> list[NetworkLink]:
    numbers = [
        column.letter for column in projection.columns if column.kind.is_number and column.kind != ValueKind.MOMENT
    ]
    found = list[NetworkLink]()
    for record in projection.records[:MAX_RECORDS]:
        if start in record.cells and end in record.cells:
            weight = record.cells.get(numbers[0]) if numbers else None
            number = weight.number if weight is not None and weight.number is not None else 1.0
            found.append(NetworkLink(_text_node(record.cells[start].text), _text_node(record.cells[end].text), number))
    return found


def _source_links(projection: ViewProjection) -> list[NetworkLink]:
    """Return links from each source to its rows, and from these to their values."""
    titles = {source.name: source.title for source in projection.sources}
    found = list[NetworkLink]()
    for record in projection.records[:MAX_RECORDS]:
        for column in projection.informative:
            cell = record.cells.get(column.letter)
            if cell is not None:
                middle = NetworkNode(("source", column.source), titles.get(column.source, projection.title))
                weight = cell.number if cell.number is not None else 1.0
                if record.row:
                    row = NetworkNode((*middle.key, record.row), record.row)
                    # A single value determines the size of its row.
                    alone = len(projection.informative) == 1
                    found.append(NetworkLink(middle, row, weight if alone else 0.0))
                    if alone:
                        continue
                    middle = row
                found.append(
                    NetworkLink(middle, NetworkNode((*middle.key, "value", column.letter), column.title), weight)
                )
    return list(dict.fromkeys(found))


def _text_node(text: str) -> NetworkNode:
    return NetworkNode((text,), text)
