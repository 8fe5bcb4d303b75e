"""Search and suggestion pages, rendered from templates."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tarantula import __version__
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.lifecycle.suggestions import AlreadyCollected
from tarantula.search.results import SearchOrder
from tarantula.services import search, suggestions
from tarantula.services.context import ServiceContext
from tarantula.web.format import format_moment, format_number
from tarantula.web.i18n import LANGUAGES, _, language, mark, translate_reason
from tarantula.web.limits import PooledRoute, error_status, retry_headers
from tarantula.web.middleware import templates_with_nonces
from tarantula.web.public.results import (
    ResultsQuery,
    copy_path,
    facet_views,
    page_links,
    parse_document_number,
    parse_results_query,
    result_view,
)
from tarantula.web.replay.addresses import copy_address

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
