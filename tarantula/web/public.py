"""Search and suggestion pages in plain HTML, made on the server and usable without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Form, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tarantula import __version__
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.core.urls import is_web
from tarantula.lifecycle.suggested_urls import AlreadyCollected
from tarantula.search.results import (
    MOST_PAGES,
    FacetCount,
    SearchFacets,
    SearchOrder,
    SearchRequest,
    SearchResult,
    SearchResults,
)
from tarantula.services import search, suggestions
from tarantula.services.context import ServiceContext
from tarantula.services.search import PageCapture
from tarantula.web.i18n import LANGUAGES, _, format_moment, format_number, language, mark, translate_reason
from tarantula.web.limits import PooledRoute, error_status, retry_headers
from tarantula.web.middleware import templates_with_nonces
from tarantula.web.replay.addresses import copy_address

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


templates = templates_with_nonces()
templates.env.globals.update(
    _=_, number=format_number, moment=format_moment, translate_reason=translate_reason, version=__version__
)


def render(request: Request, template: str, values: dict[str, Any], status: int = 200) -> Response:
    """Render a template."""
    current_address = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    others = {
        code: (label, f"/language/{code}?back={quote(current_address, safe='')}")
        for code, label in LANGUAGES.items()
        if code != language()
    }
    parameters = {**values, "language": language(), "others": others, "person": request.state.person}
    return templates.TemplateResponse(request, template, parameters, status)


ORDER_LABELS = {
    SearchOrder.BEST: mark("Best first"),
    SearchOrder.WORDS: mark("By text only"),
    SearchOrder.TF_IDF: mark("By TF-IDF"),
    SearchOrder.LINKS: mark("Most linked first"),
    SearchOrder.NEWEST: mark("Newest first"),
}

router = APIRouter(include_in_schema=False, route_class=PooledRoute)


@router.get("/search")
def show_search(request: Request, q: str = "", page: str = "1", order: str = "best", unfold: str = "") -> Response:
    """Show the search form, or the results."""
    query = parse_results_query(q, page, order, unfold)
    values = {"query": query, "orders": ORDER_LABELS, "notes": list(query.notes), "complaint": ""}
    if not query.query:
        typed = [_("Enter one or more words.")] if q else []
        values["notes"] = [*typed, *map(_, search.index_warnings(context_of(request)))]
        return render(request, "search.html", {**values, "found": None})
    try:
        return render(request, "search.html", {**values, **_search_results(context_of(request), query)})
    except TarantulaError as error:
        answer = render(request, "search.html", {**values, "found": None, "complaint": _(str(error))}, 503)
        answer.headers.update(retry_headers(error))
        return answer


@router.get("/search/complete")
def complete_search(request: Request, q: str = "") -> Response:
    """Return completions of a query; empty if there is no index."""
    try:
        return JSONResponse(search.completions(context_of(request), q))
    except TarantulaError:
        return JSONResponse([])


@router.get("/search/copy/{urn}/{number}")
def show_copy(request: Request, urn: str, number: str) -> Response:
    """Redirect to the archived copy of a document, with a new ticket."""
    try:
        document = parse_document_number(number)
        search.check_document(context_of(request), urn, document)
        return RedirectResponse(copy_address(request, urn, document), 303)
    except TarantulaError as error:
        # RFC 7725: unavailable for legal reasons.
        status = 451 if isinstance(error, WithheldError) else error_status(error, 404)
        return render(request, "message.html", {"title": _("Search"), "complaint": _(str(error))}, status)


def context_of(request: Request) -> ServiceContext:
    """Return the service context of the request; `AuthMiddleware` has checked the login."""
    context: ServiceContext = request.state.authenticator.context(request.state.person)
    return context


def _search_results(context: ServiceContext, query: ResultsQuery) -> dict[str, Any]:
    found = search.search_documents(context, query.request)
    captures = search.other_captures(context, found.results)
    return {
        "found": found,
        "notes": [*query.notes, *map(_, [*found.notes, *search.index_warnings(context)])],
        "did_you_mean": found.did_you_mean and (found.did_you_mean, query.with_query(found.did_you_mean)),
        "results": [result_view(query, result, captures.get(result.document, [])) for result in found.results],
        "facets": facet_views(query, found.facets),
        "pages": page_links(query, found),
    }


@router.get("/search/suggest")
def suggest_form(request: Request, url: str = "") -> Response:
    """Show the "suggest a URL" form."""
    return render(request, "suggest.html", {"url": url[:10_000].replace("\0", ""), "complaint": ""})


@router.post("/search/suggest")
def submit_suggestion(request: Request, url: Annotated[str, Form()] = "") -> Response:
    """Suggest a URL, or show the error."""
    try:
        suggestion = suggestions.suggest(context_of(request), url)
    except AlreadyCollected as error:
        return RedirectResponse(_address(error.urn, error.document), 303)
    except TarantulaError as error:
        page = {"url": url[:10_000], "complaint": _(str(error))}
        return render(request, "suggest.html", page, error_status(error, 400))
    return RedirectResponse(_address(suggestion.urn, suggestion.document), 303)


@router.get("/search/suggested/{urn}/{number}")
def suggestion_status(request: Request, urn: str, number: str) -> Response:
    """Show the state of a suggestion; the page reloads itself until it is final."""
    try:
        found = suggestions.get_suggestion(context_of(request), urn, parse_document_number(number))
    except TarantulaError as error:
        page = {"url": "", "complaint": _(str(error))}
        return render(request, "suggest.html", page, error_status(error, 404))
    search_address = ResultsQuery(f'url:"{found.url}"').address
    return render(
        request,
        "suggested.html",
        {"found": found, "archived": copy_path(urn, found.document), "search": search_address},
    )


def _address(urn: str, document: int) -> str:
    return f"/search/suggested/{urn}/{document}"
