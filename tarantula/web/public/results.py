"""The query that a results page address holds, and the links of the results, facets and page numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlencode

from tarantula.core.errors import TarantulaError
from tarantula.core.urls import is_web
from tarantula.search.results import (
    MOST_PAGES,
    FacetCount,
    SearchFacets,
    SearchOrder,
    SearchRequest,
    SearchResult,
    SearchResults,
)
from tarantula.services.search import PageCapture
from tarantula.web.i18n import _

MAX_QUERY_LENGTH = 10_000
"""Maximum length of a query; every link of the page repeats it."""
_SPACE = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class ResultsQuery:
    """A query as parsed from an address; invalid parts are replaced by defaults."""

    query: str = ""
    page: int = 1
    order: SearchOrder = SearchOrder.BEST
    unfold: bool = False
    notes: list[str] = field(default_factory=list, compare=False)
    """Notes about invalid parts, in the reader's language."""

    @property
    def request(self) -> SearchRequest:
        """The search request."""
        return SearchRequest(query=self.query, page=self.page, order=self.order, unfold=self.unfold)

    @property
    def address(self) -> str:
        """Address of the results page."""
        parameters: dict[str, object] = {"q": self.query}
        if self.page != 1:
            parameters["page"] = self.page
        if self.order != SearchOrder.BEST:
            parameters["order"] = self.order
        if self.unfold:
            parameters["unfold"] = 1
        return f"/search?{urlencode(parameters)}"

    def on_page(self, page: int) -> str:
        """Return the address of another page."""
        return replace(self, page=page).address

    def in_order(self, order: SearchOrder) -> str:
        """Return the address with another order."""
        return replace(self, order=order, page=1).address

    def with_unfold(self, unfold: bool) -> str:
        """Return the address with duplicates listed or grouped."""
        return replace(self, unfold=unfold, page=1).address

    def with_query(self, query: str) -> str:
        """Return the address of another query in the same order."""
        return replace(self, query=query, page=1).address

    def has_filters(self, filters: str) -> bool:
        """Whether the query contains all these filters."""
        return set(filters.split()) <= set(self.query.split())

    def with_filters(self, filters: str) -> str:
        """Return the address of the query with additional filters."""
        return self.with_query(f"{self.query} {filters}".strip())

    def without_filters(self, filters: str) -> str:
        """Return the address of the query without these filters."""
        unwanted = set(filters.split())
        return self.with_query(" ".join(word for word in self.query.split() if word not in unwanted))


def parse_results_query(q: str, page: str, order: str, unfold: str) -> ResultsQuery:
    """Return the query of an address; invalid values are replaced, with a note."""
    notes: list[str] = []
    return ResultsQuery(
        query=_query(q, notes),
        page=_page(page, notes),
        order=_order(order, notes),
        unfold=unfold == "1",
        notes=notes,
    )


def parse_document_number(text: str) -> int:
    """Return the document number of an address; raise `TarantulaError` if it is no number."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise TarantulaError(_("{number} is not the number of a document.", number=repr(text[:40])))
    return int(text)


def _query(text: str, notes: list[str]) -> str:
    if len(text) > MAX_QUERY_LENGTH:
        notes.append(_("Only the first {letters} characters are used.", letters=MAX_QUERY_LENGTH))
    return _SPACE.sub(" ", text[:MAX_QUERY_LENGTH]).strip()


def _page(text: str, notes: list[str]) -> int:
    if not (text.isascii() and text.isdigit()) or not text.strip("0"):
        notes.append(_("{page} is not a page number: this is the first page.", page=repr(text[:20])))
        return 1
    if len(text) > 9 or int(text) > MOST_PAGES:
        notes.append(_("Only the first {pages} pages are available: this is the last one.", pages=MOST_PAGES))
        return MOST_PAGES
    return int(text)


def _order(text: str, notes: list[str]) -> SearchOrder:
    try:
        return SearchOrder(text)
    except ValueError:
        notes.append(_("Unknown order {order}: the best results come first.", order=repr(text[:20])))
        return SearchOrder.BEST


NEARBY_PAGES = 4
"""Number of page links before and after the current page."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """A search result with its links. Its texts come from other sites."""

    hit: SearchResult
    archived: str
    """Address of the archived copy."""
    in_item: str
    """Address of the copy in the browse page of its item."""
    live: str
    """Its URL if it is a web address, else empty."""
    inlinks: str
    """Address of a search for the pages that link to it."""
    captures: list[tuple[datetime | None, str]]
    all_captures: str
    unfolded: str


@dataclass(frozen=True, slots=True)
class FacetValueView:
    """A value of a facet: a server, type or year."""

    name: str
    documents: int
    is_chosen: bool
    address: str
    """Address of the query with this value, or without it if it is selected."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """Link to a page of the results."""

    name: str
    address: str
    is_current: bool = False


def copy_path(urn: str, document: int) -> str:
    """Return the path that redirects to an archived copy."""
    return f"/search/copy/{urn}/{document}"


def result_view(query: ResultsQuery, result: SearchResult, captures: Sequence[PageCapture]) -> ResultView:
    """Return a result with its links."""
    return ResultView(
        hit=result,
        archived=copy_path(result.urn, result.document),
        in_item=f"/items/{result.urn}/browse?document={result.document}",
        live=result.url if is_web(result.url) else "",
        inlinks=query.with_query(f"link:{result.url}"),
        captures=[(one.collected, copy_path(one.urn, one.document)) for one in captures],
        all_captures=f"/items/{result.urn}/documents/{result.document}",
        unfolded=query.with_unfold(True),
    )


def facet_views(query: ResultsQuery, facets: SearchFacets) -> list[tuple[str, list[FacetValueView]]]:
    """Return the facets with their values and links."""
    kinds: list[tuple[str, list[FacetCount], Callable[[str], str]]] = [
        (_("Servers"), facets.servers, "site:{}".format),
        (_("Types"), facets.types, "type:{}".format),
        (_("Years"), facets.years, _within_year),
    ]
    return [
        (title, [_value(query, one, filters(one.value)) for one in counts])
        for title, counts, filters in kinds
        if counts
    ]


def page_links(query: ResultsQuery, found: SearchResults) -> list[PageLink]:
    """Return the links to nearby pages; empty if there is only one page."""
    if found.pages < 2 and query.page == 1:
        return []
    near = range(max(query.page - NEARBY_PAGES, 1), min(query.page + NEARBY_PAGES, found.pages) + 1)
    pages = [PageLink(str(page), query.on_page(page), page == query.page) for page in near]
    if query.page > 1:
        pages.insert(0, PageLink(_("Previous"), query.on_page(min(query.page - 1, max(found.pages, 1)))))
    if query.page < found.pages:
        pages.append(PageLink(_("Next"), query.on_page(query.page + 1)))
    return pages


def _within_year(year: str) -> str:
    return f"after:{int(year) - 1:04} before:{int(year) + 1:04}"


def _value(query: ResultsQuery, count: FacetCount, filters: str) -> FacetValueView:
    is_chosen = query.has_filters(filters)
    address = query.without_filters(filters) if is_chosen else query.with_filters(filters)
    return FacetValueView(count.value or "–", count.documents, is_chosen, address)
