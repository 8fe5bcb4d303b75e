"""How a score came about, in lines that a person can read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import log2
from typing import Any, NamedTuple

from tantivy import DocAddress, Query, Searcher

from tarantula.search.index.schema_part_schema import field_names

_TERM = re.compile(r'Term\(field=(\d+), type=Str, "(.*)"\)')
_PHRASE = "Phrase Scorer"
"""What the index says of words that stand together; it does not say where they do."""
_BOOST = re.compile(r"Boost x([0-9.eE+-]+) of")


class ScorePart(NamedTuple):
    """What one word brought in one field, or several words that stand together."""

    value: float
    what: str
    times: float
    rarity: float


def explain_score(query: Query, searcher: Searcher, address: DocAddress, rank: float | None) -> str:
    """Return how the score of a document came about; *rank* is what its links weigh, if they count."""
    tree = json.loads(query.explain(searcher, address).to_json())
    parts = sorted(_parts(tree, 1.0), reverse=True)
    lines = [f"{part.value:.3f}  {part.what}: {part.times:g} times, rarity {part.rarity:.2f}" for part in parts]
    total = f"{tree['value']:.3f} by its words"
    if rank is None:
        return "\n".join([total, *lines])
    weight = log2(2.0 + rank)
    return "\n".join([f"{tree['value'] * weight:.3f} = {total} × {weight:.2f} by its links", *lines])


def _parts(node: dict[str, Any], factor: float) -> Iterator[ScorePart]:
    boost = _BOOST.match(node["description"])
    term = _TERM.search(" ".join(node.get("context") or []))
    details = node.get("details") or []
    if term is not None or node["description"] == _PHRASE:
        what = f"{term[2]!r} in {field_names()[int(term[1])]}" if term else "words together as they were typed"
        figures = {figure["description"].partition(",")[0]: figure["value"] for figure in _all(details)}
        yield ScorePart(node["value"] * factor, what, figures["freq"], figures["idf"])
        return
    for child in details:
        yield from _parts(child, factor * (float(boost[1]) if boost else 1.0))


def _all(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _all(node.get("details") or [])
