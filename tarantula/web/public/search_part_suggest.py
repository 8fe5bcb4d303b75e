"""Suggesting a URL, and seeing what becomes of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.suggestions import AlreadyCollected
from tarantula.services import suggestions
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.public.results import ResultsQuery, parse_document_number
from tarantula.web.public.results_part_views import copy_path
from tarantula.web.public.search import context_of
from tarantula.web.public.search_part_showing import render

suggest_router = APIRouter(include_in_schema=False)


@suggest_router.get("/search/suggest")
def suggest_form(request: Request, url: str = "") -> Response:
    """Ask for a URL."""
    return render(request, "suggest.html", {"url": url[:10_000].replace("\0", ""), "complaint": ""})


@suggest_router.post("/search/suggest")
def submit_suggestion(request: Request, url: Annotated[str, Form()] = "") -> Response:
    """Have a URL collected, or say why not."""
    try:
        taken = suggestions.suggest(context_of(request), url)
    except AlreadyCollected as error:
        return RedirectResponse(_address(error.urn, error.document), 303)
    except TarantulaError as error:
        return render(request, "suggest.html", {"url": url[:10_000], "complaint": translate_sentence(str(error))}, 400)
    return RedirectResponse(_address(taken.urn, taken.document), 303)


@suggest_router.get("/search/suggested/{urn}/{number}")
def suggestion_status(request: Request, urn: str, number: str) -> Response:
    """Show what became of it; the page asks again by itself until that is known."""
    try:
        found = suggestions.get_suggestion(context_of(request), urn, parse_document_number(number))
    except TarantulaError as error:
        return render(request, "suggest.html", {"url": "", "complaint": translate_sentence(str(error))}, 404)
    search = ResultsQuery(f'url:"{found.url}"').address
    return render(
        request, "suggested.html", {"found": found, "archived": copy_path(urn, found.document), "search": search}
    )


def _address(urn: str, document: int) -> str:
    return f"/search/suggested/{urn}/{document}"
