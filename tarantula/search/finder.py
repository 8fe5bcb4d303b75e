"""Finds documents in an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tantivy import DocAddress, Document, Query, Schema, Searcher

from tarantula.search.citation import QueryWordMatcher, best_citation, query_word_matcher
from tarantula.search.duplicates import FoldedHit, fold_duplicates
from tarantula.search.finder_part_explaining import explain_score
from tarantula.search.finder_part_facets import count_facets
from tarantula.search.finder_part_tf_idf import TF_IDF_CANDIDATES, by_tf_idf
from tarantula.search.index.schema import from_milliseconds
from tarantula.search.index.schema_part_schema import IndexField
from tarantula.search.index.storage import IndexSnapshot
from tarantula.search.queries.builder_part_asking import MatchMode, QueryBuilder
from tarantula.search.queries.parser import ParsedQuery, parse_query
from tarantula.search.queries.spelling import spelling_suggestion
from tarantula.search.results import (
    MOST_PAGES,
    RESULTS_PER_PAGE,
    SearchFacets,
    SearchOrder,
    SearchRequest,
    SearchResult,
    SearchResults,
)

FEWEST_CANDIDATES = 100
"""Hits that are looked at, so that equal ones can be folded."""

SPELLING_BELOW_DOCUMENTS = RESULTS_PER_PAGE
"""Documents, at fewer than which somebody may have meant another word."""

_SHOWN = ("url", "server", "type", "language", "publication", "urn", "inlinks")
"""What a result has as the index keeps it."""
_CITED = (IndexField.MAIN, IndexField.DESCRIPTION, IndexField.REST)
"""Where the citation is taken from: the first of these that says anything."""
_ORDERED_BY = {SearchOrder.LINKS: IndexField.INLINKS, SearchOrder.NEWEST: IndexField.COLLECTED}


class IndexSource(Protocol):
    """An index, or what of it may be seen."""

    @property
    def schema(self) -> Schema:
        """Its fields."""

    def seen(self) -> IndexSnapshot:
        """Return it as it is at this moment."""


class SearchMatches(NamedTuple):
    """How many documents answer, and the best of them."""

    number: int
    best: list[tuple[float, DocAddress]]


class SearchFinder:
    """Answers requests from an index, as it is when they come."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def find(self, request: SearchRequest) -> SearchResults:
        """Return a page of what was found."""
        asked = parse_query(request.query)
        searcher, place = self._source.seen()
        if asked.is_empty:
            asked.notes.append("Type a word, or several.")
            return _nothing(request, asked, place)
        asking = QueryBuilder(self._source.schema, searcher)
        needed, query, found = _first(asking, searcher, asked, request)
        hits = _page(searcher, query, found, request, asked)
        number, forms = found.number, query_word_matcher(asked)
        is_poor = number < SPELLING_BELOW_DOCUMENTS or needed is MatchMode.ANY
        results = [_result(searcher.doc(hit.address), hit, forms) for hit in hits]
        if request.explain:
            for hit, result in zip(hits, results, strict=True):
                result.explanation = _explanation(query, searcher, hit, request.order)
        return SearchResults(
            query=request.query,
            page=request.page,
            pages=min(-(-number // RESULTS_PER_PAGE), MOST_PAGES),
            documents=number,
            results=results,
            facets=count_facets(searcher, asking.matching(asked, needed)) if number else SearchFacets(),
            notes=asked.notes,
            did_you_mean=spelling_suggestion(self._source.schema, searcher, asked, request.query) if is_poor else None,
            place=place,
        )


def _first(
    asking: QueryBuilder, searcher: Searcher, asked: ParsedQuery, request: SearchRequest
) -> tuple[MatchMode, Query, SearchMatches]:
    """Return a query for all of the words; for any of them, if no document has all; and what it finds first."""
    most = max(
        TF_IDF_CANDIDATES if request.order is SearchOrder.TF_IDF else FEWEST_CANDIDATES,
        request.page * RESULTS_PER_PAGE * 2,
    )
    query = asking.query(asked)
    found = _search(searcher, query, asked, request.order, most)
    if found.number or len(asked.wanted) < 2:
        return MatchMode.ALL, query, found
    query = asking.query(asked, MatchMode.ANY)
    found = _search(searcher, query, asked, request.order, most)
    if found.number:
        asked.notes.append("No document has all of the words. These have some of them.")
    return MatchMode.ANY, query, found


def _page(
    searcher: Searcher, query: Query, found: SearchMatches, request: SearchRequest, asked: ParsedQuery
) -> list[FoldedHit]:
    begin, end = (request.page - 1) * RESULTS_PER_PAGE, request.page * RESULTS_PER_PAGE
    while True:
        hits = fold_duplicates(searcher, found.best, request.unfold)
        if len(hits) >= end or len(found.best) == found.number:
            return hits[begin:end]
        found = _search(searcher, query, asked, request.order, len(found.best) * 2)


def _search(searcher: Searcher, query: Query, asked: ParsedQuery, order: SearchOrder, most: int) -> SearchMatches:
    options: dict[str, Any] = {"limit": most}
    if order in _ORDERED_BY:
        options["order_by_field"] = _ORDERED_BY[order]
    elif order is SearchOrder.BEST:
        options["weight_by_field"] = IndexField.RANK
    result = searcher.search(query, **options)
    number: int = result.count or 0  # type: ignore[attr-defined]
    best = [(float(score), address) for score, address in result.hits]
    return SearchMatches(number, by_tf_idf(searcher, asked, best) if order is SearchOrder.TF_IDF else best)


def _result(document: Document, hit: FoldedHit, forms: QueryWordMatcher) -> SearchResult:
    shown: dict[str, Any] = {name: document.get_first(name) for name in _SHOWN}
    text = next(filter(None, map(document.get_first, _CITED)), "")
    return SearchResult(
        document=document.get_first(IndexField.NUMBER) or 0,
        title=str(document.get_first(IndexField.TITLE) or shown["url"]),
        collected=from_milliseconds(document.get_first(IndexField.COLLECTED) or 0),
        citation=best_citation(text, forms),
        score=hit.score,
        same=hit.same,
        alike=hit.alike,
        **shown,
    )


def _explanation(query: Query, searcher: Searcher, hit: FoldedHit, order: SearchOrder) -> str:
    (rank,) = searcher.fast_field_values(IndexField.RANK, [hit.address])
    return explain_score(query, searcher, hit.address, float(rank or 0.0) if order is SearchOrder.BEST else None)


def _nothing(request: SearchRequest, asked: ParsedQuery, place: int) -> SearchResults:
    return SearchResults(
        query=request.query,
        page=request.page,
        pages=0,
        documents=0,
        results=[],
        facets=SearchFacets(),
        notes=asked.notes,
        place=place,
    )


SearchFunction = Callable[[SearchRequest], SearchResults]
"""Whatever answers requests: an index here, or a gateway elsewhere."""
