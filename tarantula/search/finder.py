"""Run a search request against an index: matching, ranking, facets, score explanations.

The order `tf-idf` is that of 2024: the frequency of the words in a document times their rarity elsewhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log, log2
from typing import Any, NamedTuple, Protocol

from tantivy import DocAddress, Document, Query, Schema, Searcher

from tarantula.core.messages import Message
from tarantula.search.citation import QueryWordMatcher, best_citation, query_word_matcher
from tarantula.search.duplicates import FoldedHit, fold_duplicates
from tarantula.search.index.schema import (
    WHOLE_STEMS_FIELD,
    IndexEntry,
    IndexField,
    VisibleSearcher,
    entry_of_document,
    field_names,
    from_milliseconds,
)
from tarantula.search.index.storage import IndexSnapshot
from tarantula.search.queries.builder import MatchMode, QueryBuilder, form_frequencies, word_frequency
from tarantula.search.queries.parser import ParsedQuery, parse_query
from tarantula.search.queries.spelling import spelling_suggestion
from tarantula.search.results import (
    MOST_PAGES,
    RESULTS_PER_PAGE,
    FacetCount,
    SearchFacets,
    SearchOrder,
    SearchRequest,
    SearchResult,
    SearchResults,
)
from tarantula.search.texts.words import exact_analyzer, stems_of_text, stems_of_word

MOST_FACET_VALUES = 10
"""Most values counted per facet."""

_KINDS = {"servers": IndexField.SERVER, "types": IndexField.TYPE, "years": IndexField.YEAR}

TF_IDF_CANDIDATES = 200
"""Number of best matches that are reordered by TF-IDF; the others follow."""
ScoredAddresses = list[tuple[float, DocAddress]]
_TERM = re.compile(r'Term\(field=(\d+), type=Str, "(.*)"\)')
_PHRASE = "Phrase Scorer"
"""Description of a phrase in the index's explanation, which does not name the field."""
_BOOST = re.compile(r"Boost x([0-9.eE+-]+) of")
FEWEST_CANDIDATES = 100
"""Least number of hits fetched, so that duplicates can be folded."""
SPELLING_BELOW_DOCUMENTS = RESULTS_PER_PAGE
"""With fewer matches than this, a spelling suggestion is looked for."""
_SHOWN = ("url", "server", "type", "language", "publication", "urn", "inlinks")
"""Fields copied to a result unchanged."""
_CITED = (IndexField.MAIN, IndexField.DESCRIPTION, IndexField.REST)
"""Fields for the excerpt; the first with a text is used."""
_ORDERED_BY = {SearchOrder.LINKS: IndexField.INLINKS, SearchOrder.NEWEST: IndexField.COLLECTED}
SearchFunction = Callable[[SearchRequest], SearchResults]
"""Function that answers search requests, locally or through a gateway."""


def count_facets(searcher: VisibleSearcher, query: Query) -> SearchFacets:
    """Count the matches of a query by server, type and year."""
    aggregations = {name: {"terms": {"field": str(field), "size": MOST_FACET_VALUES}} for name, field in _KINDS.items()}
    counted = searcher.aggregate(query, aggregations)
    return SearchFacets(**{name: [_count(bucket) for bucket in counted[name]["buckets"]] for name in _KINDS})


def _count(bucket: dict[str, object]) -> FacetCount:
    key = bucket["key"]
    number = bucket["doc_count"]
    assert isinstance(number, int)
    return FacetCount(str(int(key) if isinstance(key, float) else key), number)


def by_tf_idf(searcher: Searcher, parsed: ParsedQuery, matches: ScoredAddresses) -> ScoredAddresses:
    """Reorder the first matches by TF-IDF and replace their scores; the others keep theirs."""
    forms = [
        stems_of_word(part)
        for group in parsed.required
        for words in group
        for part in exact_analyzer().analyze(words.text)
    ]
    rarities = [(each, _idf(searcher, each)) for each in forms if each]
    scored = [
        (_tf_idf(entry_of_document(searcher.doc(address)), rarities), address)
        for _, address in matches[:TF_IDF_CANDIDATES]
    ]
    return sorted(scored, key=lambda one: -one[0]) + matches[TF_IDF_CANDIDATES:]


def _idf(searcher: Searcher, forms: Sequence[str]) -> float:
    number = word_frequency(searcher, form_frequencies(searcher, WHOLE_STEMS_FIELD, forms))
    return log(searcher.num_docs / number) if number else 0.0


def _tf_idf(entry: IndexEntry, rarities: Sequence[tuple[Sequence[str], float]]) -> float:
    text = "\n".join((entry.title, entry.headings, entry.description, entry.main))
    counts = Counter(stems_of_text(text, entry.language))
    number = counts.total() or 1
    return sum(max(counts[form] for form in forms) / number * rarity for forms, rarity in rarities)


class ScorePart(NamedTuple):
    """Contribution of a word in one field, or of a phrase."""

    value: float
    what: str
    times: float
    rarity: float


def explain_score(query: Query, searcher: Searcher, address: DocAddress, rank: float | None) -> str:
    """Return how the score of a document was computed; *rank* is its link rank, if links count."""
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
        figures = {figure["description"].partition(",")[0]: figure["value"] for figure in _nodes(details)}
        yield ScorePart(node["value"] * factor, what, figures["freq"], figures["idf"])
        return
    for child in details:
        yield from _parts(child, factor * (float(boost[1]) if boost else 1.0))


def _nodes(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _nodes(node.get("details") or [])


class IndexSource(Protocol):
    """Provider of an index snapshot."""

    @property
    def schema(self) -> Schema:
        """Schema of the index."""

    def snapshot(self) -> IndexSnapshot:
        """Return the current snapshot."""


class SearchMatches(NamedTuple):
    """Number of matching documents, and the best of them with their scores."""

    number: int
    best: list[tuple[float, DocAddress]]


class SearchFinder:
    """Answers search requests from the current state of an index."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def find(self, request: SearchRequest, withheld: Sequence[str] = ()) -> SearchResults:
        """Return one page of results, without the URLs in *withheld*."""
        parsed = parse_query(request.query)
        whole, place = self._source.snapshot()
        if parsed.is_empty:
            parsed.notes.append("Enter one or more words.")
            return _empty_results(request, parsed, place)
        searcher = VisibleSearcher(whole, self._source.schema, withheld)
        builder = QueryBuilder(self._source.schema, whole)
        mode, query, matches = _match(builder, searcher, parsed, request)
        hits = _page_of_hits(searcher, query, matches, request, parsed)
        number, forms = matches.number, query_word_matcher(parsed)
        has_few = number < SPELLING_BELOW_DOCUMENTS or mode is MatchMode.ANY
        results = [_result(whole.doc(hit.address), hit, forms) for hit in hits]
        if request.explain:
            for hit, result in zip(hits, results, strict=True):
                result.explanation = _explanation(query, whole, hit, request.order)
        return SearchResults(
            query=request.query,
            page=request.page,
            pages=min(-(-number // RESULTS_PER_PAGE), MOST_PAGES),
            documents=number,
            results=results,
            facets=count_facets(searcher, builder.matching(parsed, mode)) if number else SearchFacets(),
            notes=parsed.notes,
            did_you_mean=spelling_suggestion(searcher, parsed, request.query) if has_few else None,
            place=place,
        )


def _match(
    builder: QueryBuilder, searcher: VisibleSearcher, parsed: ParsedQuery, request: SearchRequest
) -> tuple[MatchMode, Query, SearchMatches]:
    """Match all words, or any of them if no document has all; return the mode, the query and its matches."""
    limit = max(
        TF_IDF_CANDIDATES if request.order is SearchOrder.TF_IDF else FEWEST_CANDIDATES,
        request.page * RESULTS_PER_PAGE * 2,
    )
    query = builder.query(parsed)
    matches = _search(searcher, query, parsed, request.order, limit)
    if matches.number or len(parsed.required) < 2:
        return MatchMode.ALL, query, matches
    query = builder.query(parsed, MatchMode.ANY)
    matches = _search(searcher, query, parsed, request.order, limit)
    if matches.number:
        parsed.notes.append(Message("No document has all words. These documents have some of them."))
    return MatchMode.ANY, query, matches


def _page_of_hits(
    searcher: VisibleSearcher, query: Query, matches: SearchMatches, request: SearchRequest, parsed: ParsedQuery
) -> list[FoldedHit]:
    begin, end = (request.page - 1) * RESULTS_PER_PAGE, request.page * RESULTS_PER_PAGE
    while True:
        hits = fold_duplicates(searcher.whole, matches.best, request.unfold)
        if len(hits) >= end or len(matches.best) == matches.number:
            return hits[begin:end]
        matches = _search(searcher, query, parsed, request.order, len(matches.best) * 2)


def _search(
    searcher: VisibleSearcher, query: Query, parsed: ParsedQuery, order: SearchOrder, limit: int
) -> SearchMatches:
    options: dict[str, Any] = {"limit": limit}
    if order in _ORDERED_BY:
        options["order_by_field"] = _ORDERED_BY[order]
    elif order is SearchOrder.BEST:
        options["weight_by_field"] = IndexField.RANK
    result = searcher.search(query, **options)
    number: int = result.count or 0  # type: ignore[attr-defined]
    best = [(float(score), address) for score, address in result.hits]
    return SearchMatches(number, by_tf_idf(searcher.whole, parsed, best) if order is SearchOrder.TF_IDF else best)


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


def _empty_results(request: SearchRequest, parsed: ParsedQuery, place: int) -> SearchResults:
    return SearchResults(
        query=request.query,
        page=request.page,
        pages=0,
        documents=0,
        results=[],
        facets=SearchFacets(),
        notes=parsed.notes,
        place=place,
    )
