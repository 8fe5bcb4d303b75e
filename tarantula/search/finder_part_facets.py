"""What was found, by servers, types and years."""

from __future__ import annotations

from tantivy import Query, Searcher

from tarantula.search.index.schema_part_schema import Field
from tarantula.search.results import Count, Facets

MOST = 10
"""Of each kind, that are counted apart."""

_KINDS = {"servers": Field.SERVER, "types": Field.TYPE, "years": Field.YEAR}


def facets(searcher: Searcher, query: Query) -> Facets:
    """Count what a query finds."""
    wishes = {name: {"terms": {"field": str(field), "size": MOST}} for name, field in _KINDS.items()}
    counted = searcher.aggregate(query, wishes)
    return Facets(**{name: [_count(bucket) for bucket in counted[name]["buckets"]] for name in _KINDS})


def _count(bucket: dict[str, object]) -> Count:
    key = bucket["key"]
    number = bucket["doc_count"]
    assert isinstance(number, int)
    return Count(str(int(key) if isinstance(key, float) else key), number)
