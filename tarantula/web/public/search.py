"""The search pages: a front page, what was found, the way to a copy, and how a query may go on."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tarantula.core.errors import TarantulaError
from tarantula.search.results import SearchOrder
from tarantula.services import search
from tarantula.services.context import ServiceContext
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.public.results import ResultsQuery, parse_document_number, parse_results_query
from tarantula.web.public.results_part_views import facet_views, page_links, result_view
from tarantula.web.public.search_part_showing import render
from tarantula.web.replay.addresses import copy_address

ORDER_LABELS = {
    SearchOrder.BEST: mark("Best first"),
    SearchOrder.WORDS: mark("By the words alone"),
    SearchOrder.TF_IDF: mark("By TF-IDF"),
    SearchOrder.LINKS: mark("Most linked first"),
    SearchOrder.NEWEST: mark("Newest first"),
}

router = APIRouter(include_in_schema=False)


@router.get("/search")
def show_search(request: Request, q: str = "", page: str = "1", order: str = "best", unfold: str = "") -> Response:
    """Show the front page, or what was found."""
    asked = parse_results_query(q, page, order, unfold)
    context = {"asked": asked, "orders": ORDER_LABELS, "notes": list(asked.notes), "complaint": ""}
    if not asked.query:
        typed = [_("Type a word, or several.")] if q else []
        context["notes"] = [*typed, *map(translate_sentence, search.index_warnings(context_of(request)))]
        return render(request, "search.html", {**context, "found": None})
    try:
        return render(request, "search.html", {**context, **_found(context_of(request), asked)})
    except TarantulaError as error:
        return render(
            request, "search.html", {**context, "found": None, "complaint": translate_sentence(str(error))}, 503
        )


@router.get("/search/complete")
def complete_search(request: Request, q: str = "") -> Response:
    """Return how a query may go on; nothing where there is nothing to search."""
    try:
        return JSONResponse(search.completions(context_of(request), q))
    except TarantulaError:
        return JSONResponse([])


@router.get("/search/copy/{urn}/{number}")
def show_copy(request: Request, urn: str, number: str) -> Response:
    """Lead to the archived copy of a document, with a ticket that is good from now on."""
    try:
        document = parse_document_number(number)
        search.check_document(context_of(request), urn, document)
        return RedirectResponse(copy_address(request, urn, document), 303)
    except TarantulaError as error:
        return render(request, "message.html", {"title": _("Search"), "complaint": translate_sentence(str(error))}, 404)


def context_of(request: Request) -> ServiceContext:
    """Return the desk of whoever asks; the door lets nobody else come here."""
    desk: ServiceContext = request.state.gate.desk(request.state.person)
    return desk


def _found(desk: ServiceContext, asked: ResultsQuery) -> dict[str, Any]:
    found = search.search_documents(desk, asked.wish)
    captures = search.other_captures(desk, found.results)
    return {
        "found": found,
        "notes": [*asked.notes, *map(translate_sentence, [*found.notes, *search.index_warnings(desk)])],
        "did_you_mean": found.did_you_mean and (found.did_you_mean, asked.asking(found.did_you_mean)),
        "results": [result_view(asked, result, captures.get(result.document, [])) for result in found.results],
        "facets": facet_views(asked, found.facets),
        "pages": page_links(asked, found),
    }
