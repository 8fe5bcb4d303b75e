"""What a results page shows, with the addresses that its links lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarantula.core.urls import is_web
from tarantula.search.results import FacetCount, SearchFacets, SearchResult, SearchResults
from tarantula.services.search import PageCapture
from tarantula.web.i18n import _
from tarantula.web.public.results import ResultsQuery

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
