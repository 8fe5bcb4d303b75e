"""Finds documents in an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tantivy import DocAddress, Document, Query, Schema, Searcher

from tarantula.search.citation import AskedWords, citation, forms_asked
from tarantula.search.duplicates import Hit, folded
from tarantula.search.finder_part_explaining import explanation
from tarantula.search.finder_part_facets import facets
from tarantula.search.finder_part_tf_idf import BEST, by_tf_idf
from tarantula.search.index.schema import moment
from tarantula.search.index.schema_part_schema import Field
from tarantula.search.index.storage import Seen
from tarantula.search.queries.builder_part_asking import Asking, Needed
from tarantula.search.queries.parser import Asked, understood
from tarantula.search.queries.spelling import did_you_mean
from tarantula.search.results import MOST_PAGES, PER_PAGE, Facets, Order, Request, Result, Results

AT_LEAST = 100
"""Hits that are looked at, so that equal ones can be folded."""

FEW = PER_PAGE
"""Documents, at fewer than which somebody may have meant another word."""

_SHOWN = ("url", "server", "type", "language", "publication", "urn", "inlinks")
"""What a result has as the index keeps it."""
_CITED = (Field.MAIN, Field.DESCRIPTION, Field.REST)
"""Where the citation is taken from: the first of these that says anything."""
_ORDERED_BY = {Order.LINKS: Field.INLINKS, Order.NEWEST: Field.COLLECTED}


class Source(Protocol):
    """An index, or what of it may be seen."""

    @property
    def schema(self) -> Schema:
        """Its fields."""

    def seen(self) -> Seen:
        """Return it as it is at this moment."""


class Found(NamedTuple):
    """How many documents answer, and the best of them."""

    number: int
    best: list[tuple[float, DocAddress]]


class Finder:
    """Answers requests from an index, as it is when they come."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def find(self, request: Request) -> Results:
        """Return a page of what was found."""
        asked = understood(request.query)
        searcher, place = self._source.seen()
        if asked.is_empty:
            asked.notes.append("Type a word, or several.")
            return _nothing(request, asked, place)
        asking = Asking(self._source.schema, searcher)
        needed, query, found = _first(asking, searcher, asked, request)
        hits = _page(searcher, query, found, request, asked)
        number, forms = found.number, forms_asked(asked)
        is_poor = number < FEW or needed is Needed.ANY
        results = [_result(searcher.doc(hit.address), hit, forms) for hit in hits]
        if request.explain:
            for hit, result in zip(hits, results, strict=True):
                result.explanation = _explanation(query, searcher, hit, request.order)
        return Results(
            query=request.query,
            page=request.page,
            pages=min(-(-number // PER_PAGE), MOST_PAGES),
            documents=number,
            results=results,
            facets=facets(searcher, asking.matching(asked, needed)) if number else Facets(),
            notes=asked.notes,
            did_you_mean=did_you_mean(self._source.schema, searcher, asked, request.query) if is_poor else None,
            place=place,
        )


def _first(asking: Asking, searcher: Searcher, asked: Asked, request: Request) -> tuple[Needed, Query, Found]:
    """Return a query for all of the words; for any of them, if no document has all; and what it finds first."""
    most = max(BEST if request.order is Order.TF_IDF else AT_LEAST, request.page * PER_PAGE * 2)
    query = asking.query(asked)
    found = _search(searcher, query, asked, request.order, most)
    if found.number or len(asked.wanted) < 2:
        return Needed.ALL, query, found
    query = asking.query(asked, Needed.ANY)
    found = _search(searcher, query, asked, request.order, most)
    if found.number:
        asked.notes.append("No document has all of the words. These have some of them.")
    return Needed.ANY, query, found


def _page(searcher: Searcher, query: Query, found: Found, request: Request, asked: Asked) -> list[Hit]:
    begin, end = (request.page - 1) * PER_PAGE, request.page * PER_PAGE
    while True:
        hits = folded(searcher, found.best, request.unfold)
        if len(hits) >= end or len(found.best) == found.number:
            return hits[begin:end]
        found = _search(searcher, query, asked, request.order, len(found.best) * 2)


def _search(searcher: Searcher, query: Query, asked: Asked, order: Order, most: int) -> Found:
    options: dict[str, Any] = {"limit": most}
    if order in _ORDERED_BY:
        options["order_by_field"] = _ORDERED_BY[order]
    elif order is Order.BEST:
        options["weight_by_field"] = Field.RANK
    result = searcher.search(query, **options)
    number: int = result.count or 0  # type: ignore[attr-defined]
    best = [(float(score), address) for score, address in result.hits]
    return Found(number, by_tf_idf(searcher, asked, best) if order is Order.TF_IDF else best)


def _result(document: Document, hit: Hit, forms: AskedWords) -> Result:
    shown: dict[str, Any] = {name: document.get_first(name) for name in _SHOWN}
    text = next(filter(None, map(document.get_first, _CITED)), "")
    return Result(
        document=document.get_first(Field.NUMBER) or 0,
        title=str(document.get_first(Field.TITLE) or shown["url"]),
        collected=moment(document.get_first(Field.COLLECTED) or 0),
        citation=citation(text, forms),
        score=hit.score,
        same=hit.same,
        alike=hit.alike,
        **shown,
    )


def _explanation(query: Query, searcher: Searcher, hit: Hit, order: Order) -> str:
    (rank,) = searcher.fast_field_values(Field.RANK, [hit.address])
    return explanation(query, searcher, hit.address, float(rank or 0.0) if order is Order.BEST else None)


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
