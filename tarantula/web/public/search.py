"""The search pages: a front page, what was found, the way to a copy, and how a query may go on."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tarantula.core.errors import TarantulaError
from tarantula.search.results import Order
from tarantula.services import search
from tarantula.services.context import Desk
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.public.results import Asked, read_asked, read_number
from tarantula.web.public.results_part_views import shown_facets, shown_pages, shown_result
from tarantula.web.public.search_part_showing import shown
from tarantula.web.replay.addresses import copy_address

ORDERS = {
    Order.BEST: mark("Best first"),
    Order.WORDS: mark("By the words alone"),
    Order.TF_IDF: mark("By TF-IDF"),
    Order.LINKS: mark("Most linked first"),
    Order.NEWEST: mark("Newest first"),
}

router = APIRouter(include_in_schema=False)


@router.get("/search")
def show_search(request: Request, q: str = "", page: str = "1", order: str = "best", unfold: str = "") -> Response:
    """Show the front page, or what was found."""
    asked = read_asked(q, page, order, unfold)
    context = {"asked": asked, "orders": ORDERS, "notes": list(asked.notes), "complaint": ""}
    if not asked.query:
        typed = [_("Type a word, or several.")] if q else []
        context["notes"] = [*typed, *map(retold, search.standing(desk_of(request)))]
        return shown(request, "search.html", {**context, "found": None})
    try:
        return shown(request, "search.html", {**context, **_found(desk_of(request), asked)})
    except TarantulaError as error:
        return shown(request, "search.html", {**context, "found": None, "complaint": retold(str(error))}, 503)


@router.get("/search/complete")
def complete_search(request: Request, q: str = "") -> Response:
    """Return how a query may go on; nothing where there is nothing to search."""
    try:
        return JSONResponse(search.completed(desk_of(request), q))
    except TarantulaError:
        return JSONResponse([])


@router.get("/search/copy/{urn}/{number}")
def show_copy(request: Request, urn: str, number: str) -> Response:
    """Lead to the archived copy of a document, with a ticket that is good from now on."""
    try:
        document = read_number(number)
        search.check_document(desk_of(request), urn, document)
        return RedirectResponse(copy_address(request, urn, document), 303)
    except TarantulaError as error:
        return shown(request, "message.html", {"title": _("Search"), "complaint": retold(str(error))}, 404)


def desk_of(request: Request) -> Desk:
    """Return the desk of whoever asks; the door lets nobody else come here."""
    desk: Desk = request.state.gate.desk(request.state.person)
    return desk


def _found(desk: Desk, asked: Asked) -> dict[str, Any]:
    found = search.find(desk, asked.wish)
    captures = search.other_captures(desk, found.results)
    return {
        "found": found,
        "notes": [*asked.notes, *map(retold, [*found.notes, *search.standing(desk)])],
        "did_you_mean": found.did_you_mean and (found.did_you_mean, asked.asking(found.did_you_mean)),
        "results": [shown_result(asked, result, captures.get(result.document, [])) for result in found.results],
        "facets": shown_facets(asked, found.facets),
        "pages": shown_pages(asked, found),
    }
