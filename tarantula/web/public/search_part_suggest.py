"""Suggesting a URL, and seeing what becomes of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.suggestions import AlreadyThere
from tarantula.services import suggestions
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.public.results import Asked, read_number
from tarantula.web.public.results_part_views import copy_path
from tarantula.web.public.search import desk_of
from tarantula.web.public.search_part_showing import shown

router = APIRouter(include_in_schema=False)


@router.get("/search/suggest")
def ask_for_url(request: Request, url: str = "") -> Response:
    """Ask for a URL."""
    return shown(request, "suggest.html", {"url": url[:10_000].replace("\0", ""), "complaint": ""})


@router.post("/search/suggest")
def take_url(request: Request, url: Annotated[str, Form()] = "") -> Response:
    """Have a URL collected, or say why not."""
    try:
        taken = suggestions.suggest(desk_of(request), url)
    except AlreadyThere as error:
        return RedirectResponse(_address(error.urn, error.document), 303)
    except TarantulaError as error:
        return shown(request, "suggest.html", {"url": url[:10_000], "complaint": retold(str(error))}, 400)
    return RedirectResponse(_address(taken.urn, taken.document), 303)


@router.get("/search/suggested/{urn}/{number}")
def show_suggested(request: Request, urn: str, number: str) -> Response:
    """Show what became of it; the page asks again by itself until that is known."""
    try:
        found = suggestions.shown(desk_of(request), urn, read_number(number))
    except TarantulaError as error:
        return shown(request, "suggest.html", {"url": "", "complaint": retold(str(error))}, 404)
    search = Asked(f'url:"{found.url}"').address
    return shown(
        request, "suggested.html", {"found": found, "archived": copy_path(urn, found.document), "search": search}
    )


def _address(urn: str, document: int) -> str:
    return f"/search/suggested/{urn}/{document}"
