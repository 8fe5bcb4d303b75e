"""The query that a results page address holds, and the links of the results, facets and page numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlencode

from tarantula.core.errors import TarantulaError
from tarantula.core.urls import is_web
from tarantula.search.results import MOST_PAGES, FacetCount, SearchFacets, SearchOrder, SearchResult, SearchResults
from tarantula.search.results import SearchRequest as Wish
from tarantula.services.search import PageCapture
from tarantula.web.i18n import _

MAX_QUERY_LENGTH = 10_000
"""Letters of a query: every link of a page carries all of them on."""
_SPACE = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class ResultsQuery:
    """What somebody asks for; whatever the address says, there is an answer to it."""

    query: str = ""
    page: int = 1
    order: SearchOrder = SearchOrder.BEST
    unfold: bool = False
    notes: list[str] = field(default_factory=list, compare=False)
    """What was not understood, in the reader's language."""

    @property
    def wish(self) -> Wish:
        """The same, for whoever answers."""
        return Wish(query=self.query, page=self.page, order=self.order, unfold=self.unfold)

    @property
    def address(self) -> str:
        """Where it is asked for."""
        told: dict[str, object] = {"q": self.query}
        if self.page != 1:
            told["page"] = self.page
        if self.order != SearchOrder.BEST:
            told["order"] = self.order
        if self.unfold:
            told["unfold"] = 1
        return f"/search?{urlencode(told)}"

    def on_page(self, page: int) -> str:
        """Return the address of another page of the same."""
        return replace(self, page=page).address

    def in_order(self, order: SearchOrder) -> str:
        """Return the address of the same in another order."""
        return replace(self, order=order, page=1).address

    def folded(self, unfold: bool) -> str:
        """Return the address of the same with nearly equal documents one by one, or folded."""
        return replace(self, unfold=unfold, page=1).address

    def asking(self, query: str) -> str:
        """Return the address of another query in the same order."""
        return replace(self, query=query, page=1).address

    def has(self, words: str) -> bool:
        """Whether some filters are in the query."""
        return set(words.split()) <= set(self.query.split())

    def narrowed(self, words: str) -> str:
        """Return the address of the query with further filters."""
        return self.asking(f"{self.query} {words}".strip())

    def widened(self, words: str) -> str:
        """Return the address of the query without some filters."""
        unwanted = set(words.split())
        return self.asking(" ".join(word for word in self.query.split() if word not in unwanted))


def parse_results_query(q: str, page: str, order: str, unfold: str) -> ResultsQuery:
    """Return what an address asks for, whatever stands in it."""
    notes: list[str] = []
    return ResultsQuery(
        query=_query(q, notes),
        page=_page(page, notes),
        order=_order(order, notes),
        unfold=unfold == "1",
        notes=notes,
    )


def parse_document_number(text: str) -> int:
    """Return the number of a document that an address names."""
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
"""Pages before and behind this one that are led to."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """A document that was found. Its words are a stranger's."""

    told: SearchResult
    archived: str
    """The archived copy."""
    in_item: str
    """The copy, among the others of its item."""
    live: str
    """Its URL, if a browser may be led there."""
    leading: str
    """The pages that lead to it."""
    captures: list[tuple[datetime | None, str]]
    all_captures: str
    unfolded: str


@dataclass(frozen=True, slots=True)
class FacetValueView:
    """A server, a type or a year."""

    name: str
    documents: int
    is_chosen: bool
    address: str
    """The query with it, or without it if it is chosen."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """Another page of the results, or this one."""

    name: str
    address: str
    is_here: bool = False


def copy_path(urn: str, document: int) -> str:
    """Return where the way to a copy begins."""
    return f"/search/copy/{urn}/{document}"


def result_view(asked: ResultsQuery, result: SearchResult, captures: Sequence[PageCapture]) -> ResultView:
    """Return a result with its links."""
    return ResultView(
        told=result,
        archived=copy_path(result.urn, result.document),
        in_item=f"/items/{result.urn}/browse?document={result.document}",
        live=result.url if is_web(result.url) else "",
        leading=asked.asking(f"link:{result.url}"),
        captures=[(one.collected, copy_path(one.urn, one.document)) for one in captures],
        all_captures=f"/items/{result.urn}/documents/{result.document}",
        unfolded=asked.folded(True),
    )


def facet_views(asked: ResultsQuery, facets: SearchFacets) -> list[tuple[str, list[FacetValueView]]]:
    """Return the kinds of what was found, each value with the way to it alone."""
    kinds: list[tuple[str, list[FacetCount], Callable[[str], str]]] = [
        (_("Servers"), facets.servers, "site:{}".format),
        (_("Types"), facets.types, "type:{}".format),
        (_("Years"), facets.years, _within_year),
    ]
    return [
        (title, [_value(asked, one, words(one.value)) for one in counts]) for title, counts, words in kinds if counts
    ]


def page_links(asked: ResultsQuery, found: SearchResults) -> list[PageLink]:
    """Return the pages that are led to; none if there is only one."""
    if found.pages < 2 and asked.page == 1:
        return []
    near = range(max(asked.page - NEARBY_PAGES, 1), min(asked.page + NEARBY_PAGES, found.pages) + 1)
    pages = [PageLink(str(page), asked.on_page(page), page == asked.page) for page in near]
    if asked.page > 1:
        pages.insert(0, PageLink(_("Previous"), asked.on_page(min(asked.page - 1, max(found.pages, 1)))))
    if asked.page < found.pages:
        pages.append(PageLink(_("Next"), asked.on_page(asked.page + 1)))
    return pages


def _within_year(year: str) -> str:
    return f"after:{int(year) - 1:04} before:{int(year) + 1:04}"


def _value(asked: ResultsQuery, count: FacetCount, words: str) -> FacetValueView:
    is_chosen = asked.has(words)
    address = asked.widened(words) if is_chosen else asked.narrowed(words)
    return FacetValueView(count.value or "–", count.documents, is_chosen, address)
