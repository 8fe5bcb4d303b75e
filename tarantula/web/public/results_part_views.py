"""What a results page shows, with the addresses that its links lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarantula.core.urls import is_web
from tarantula.search.results import Count, Facets, Result, Results
from tarantula.services.search import Capture
from tarantula.web.i18n import _
from tarantula.web.public.results import Asked

AROUND = 4
"""Pages before and behind this one that are led to."""


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A document that was found. Its words are a stranger's."""

    told: Result
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
class ShownValue:
    """A server, a type or a year."""

    name: str
    documents: int
    is_chosen: bool
    address: str
    """The query with it, or without it if it is chosen."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """Another page of the results, or this one."""

    name: str
    address: str
    is_here: bool = False


def copy_path(urn: str, document: int) -> str:
    """Return where the way to a copy begins."""
    return f"/search/copy/{urn}/{document}"


def shown_result(asked: Asked, result: Result, captures: Sequence[Capture]) -> ShownResult:
    """Return a result with its links."""
    return ShownResult(
        told=result,
        archived=copy_path(result.urn, result.document),
        in_item=f"/items/{result.urn}/browse?document={result.document}",
        live=result.url if is_web(result.url) else "",
        leading=asked.asking(f"link:{result.url}"),
        captures=[(one.collected, copy_path(one.urn, one.document)) for one in captures],
        all_captures=f"/items/{result.urn}/documents/{result.document}",
        unfolded=asked.folded(True),
    )


def shown_facets(asked: Asked, facets: Facets) -> list[tuple[str, list[ShownValue]]]:
    """Return the kinds of what was found, each value with the way to it alone."""
    kinds: list[tuple[str, list[Count], Callable[[str], str]]] = [
        (_("Servers"), facets.servers, "site:{}".format),
        (_("Types"), facets.types, "type:{}".format),
        (_("Years"), facets.years, _within_year),
    ]
    return [
        (title, [_value(asked, one, words(one.value)) for one in counts]) for title, counts, words in kinds if counts
    ]


def shown_pages(asked: Asked, found: Results) -> list[ShownPage]:
    """Return the pages that are led to; none if there is only one."""
    if found.pages < 2 and asked.page == 1:
        return []
    near = range(max(asked.page - AROUND, 1), min(asked.page + AROUND, found.pages) + 1)
    pages = [ShownPage(str(page), asked.on_page(page), page == asked.page) for page in near]
    if asked.page > 1:
        pages.insert(0, ShownPage(_("Previous"), asked.on_page(min(asked.page - 1, max(found.pages, 1)))))
    if asked.page < found.pages:
        pages.append(ShownPage(_("Next"), asked.on_page(asked.page + 1)))
    return pages


def _within_year(year: str) -> str:
    return f"after:{int(year) - 1:04} before:{int(year) + 1:04}"


def _value(asked: Asked, count: Count, words: str) -> ShownValue:
    is_chosen = asked.has(words)
    address = asked.widened(words) if is_chosen else asked.narrowed(words)
    return ShownValue(count.value or "–", count.documents, is_chosen, address)
