"""Finds documents in an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tantivy import DocAddress, Query, Searcher

from tarantula.search.asking import Asking, Needed
from tarantula.search.citation import citation, forms_asked
from tarantula.search.entry import Entry, entry_of
from tarantula.search.facets import facets
from tarantula.search.folding import Hit, folded
from tarantula.search.index import Index
from tarantula.search.query import Asked, understood
from tarantula.search.results import MOST_PAGES, PER_PAGE, Facets, Order, Request, Result, Results
from tarantula.search.schema import Field

AT_LEAST = 100
"""Hits that are looked at, so that equal ones can be folded."""

_ORDERED_BY = {Order.LINKS: Field.INLINKS, Order.NEWEST: Field.COLLECTED}


class Finder:
    """Answers requests from an index, as it is when they come."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._asking = Asking(index.schema)

    def find(self, request: Request) -> Results:
        """Return a page of what was found."""
        asked = understood(request.query)
        searcher, place = self._index.searcher(), self._index.place
        if asked.is_empty:
            asked.notes.append("Type a word, or several.")
            return _nothing(request, asked, place)
        query, number = self._query(searcher, asked)
        hits = self._page(searcher, query, request)
        forms = forms_asked(asked)
        return Results(
            query=request.query,
            page=request.page,
            pages=min(-(-number // PER_PAGE), MOST_PAGES),
            documents=number,
            results=[_result(entry_of(searcher.doc(hit.address)), hit, forms) for hit in hits],
            facets=facets(searcher, query) if number else Facets(),
            notes=asked.notes,
            place=place,
        )

    def _query(self, searcher: Searcher, asked: Asked) -> tuple[Query, int]:
        """Return a query for all of the words; for any of them, if no document has all."""
        query = self._asking.query(asked)
        number = searcher.search(query, 1).count or 0  # type: ignore[attr-defined]
        if number or len(asked.wanted) < 2:
            return query, number
        query = self._asking.query(asked, Needed.ANY)
        number = searcher.search(query, 1).count or 0  # type: ignore[attr-defined]
        if number:
            asked.notes.append("No document has all of the words. These have some of them.")
        return query, number

    def _page(self, searcher: Searcher, query: Query, request: Request) -> list[Hit]:
        begin, end = (request.page - 1) * PER_PAGE, request.page * PER_PAGE
        looked_at = max(AT_LEAST, end * 2)
        while True:
            found = _search(searcher, query, request.order, looked_at)
            hits = folded(searcher, found, request.unfold)
            if len(hits) >= end or len(found) < looked_at:
                return hits[begin:end]
            looked_at *= 2


def _search(searcher: Searcher, query: Query, order: Order, most: int) -> list[tuple[float, DocAddress]]:
    options: dict[str, Any] = {"limit": most, "count": False}
    if order in _ORDERED_BY:
        options["order_by_field"] = _ORDERED_BY[order]
    elif order is Order.BEST:
        options["weight_by_field"] = Field.RANK
    return [(float(score), address) for score, address in searcher.search(query, **options).hits]


def _result(entry: Entry, hit: Hit, forms: frozenset[str]) -> Result:
    return Result(
        document=entry.number,
        url=entry.url,
        title=entry.title or entry.url,
        server=entry.server,
        type=entry.type,
        language=entry.language,
        publication=entry.publication,
        urn=entry.urn,
        collected=entry.collected,
        citation=citation(entry.main or entry.description or entry.rest, forms),
        score=hit.score,
        inlinks=entry.inlinks,
        same=hit.same,
        alike=hit.alike,
    )


def _nothing(request: Request, asked: Asked, place: int) -> Results:
    return Results(
        query=request.query,
        page=request.page,
        pages=0,
        documents=0,
        results=[],
        facets=Facets(),
        notes=asked.notes,
        place=place,
    )


Find = Callable[[Request], Results]
"""Whatever answers requests: an index here, or a gateway elsewhere."""
