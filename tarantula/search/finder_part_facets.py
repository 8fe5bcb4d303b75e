"""What was found, by servers, types and years."""

from __future__ import annotations

from tantivy import Query, Searcher

from tarantula.search.index.schema_part_schema import IndexField
from tarantula.search.results import FacetCount, SearchFacets

MOST_FACET_VALUES = 10
"""Of each kind, that are counted apart."""

_KINDS = {"servers": IndexField.SERVER, "types": IndexField.TYPE, "years": IndexField.YEAR}


def count_facets(searcher: Searcher, query: Query) -> SearchFacets:
    """Count what a query finds."""
    wishes = {name: {"terms": {"field": str(field), "size": MOST_FACET_VALUES}} for name, field in _KINDS.items()}
    counted = searcher.aggregate(query, wishes)
    return SearchFacets(**{name: [_count(bucket) for bucket in counted[name]["buckets"]] for name in _KINDS})


def _count(bucket: dict[str, object]) -> FacetCount:
    key = bucket["key"]
    number = bucket["doc_count"]
    assert isinstance(number, int)
    return FacetCount(str(int(key) if isinstance(key, float) else key), number)
