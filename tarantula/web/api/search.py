"""Searching what was collected, and suggesting what should be."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.lifecycle.suggestions_part_suggested import Suggestion
from tarantula.search.results import MOST_PAGES, Order, Request, Results
from tarantula.services import search, search_part_search_panel, suggestions
from tarantula.services.search_part_search_panel import Panel
from tarantula.web.api.common import AskedDesk, Number, Urn

router = APIRouter()


class UrlToCollect(BaseModel, extra="forbid"):
    """What somebody suggests."""

    url: str = Field(max_length=10_000, examples=["http://www.fc.ul.pt/"])


@router.get("/search", summary="Search what was collected", tags=["search"])
def search_documents(
    desk: AskedDesk,
    query: Annotated[str, Query(description='Words, "phrases", OR, -word, site: and others.')],
    page: Annotated[int, Query(ge=1, le=MOST_PAGES, description="Ten results make a page.")] = 1,
    order: Annotated[Order, Query(description="What comes first.")] = Order.BEST,
    unfold: Annotated[bool, Query(description="Show equal and nearly equal documents one by one.")] = False,
    explain: Annotated[bool, Query(description="Say how each score came about.")] = False,
) -> Results:
    """Return a page of what was found."""
    return search.find(desk, Request(query=query, page=page, order=order, unfold=unfold, explain=explain))


@router.get("/search/completions", summary="How a query may go on", tags=["search"])
def complete_query(desk: AskedDesk, prefix: Annotated[str, Query(description="What was typed so far.")]) -> list[str]:
    """Return completions of what somebody types, the likeliest first."""
    return search.completed(desk, prefix)


@router.get("/search/panel", summary="The search engine at work", tags=["search"])
def show_panel(desk: AskedDesk) -> Panel:
    """Return what is searched for most, who answers, and how far the indexes are. For administrators."""
    return search_part_search_panel.panel(desk)


@router.post("/suggestions", summary="Suggest a URL", status_code=202, tags=["search"])
def suggest_url(desk: AskedDesk, body: UrlToCollect) -> Suggestion:
    """Have a URL collected, within the rules of the publication for suggestions; a reader's token is not enough."""
    return suggestions.suggest(desk, body.url)


@router.get("/suggestions/{urn}/{number}", summary="What became of a suggestion", tags=["search"])
def show_suggestion(desk: AskedDesk, urn: Urn, number: Number) -> Suggestion:
    """Return how far a URL is that was suggested."""
    return suggestions.shown(desk, urn, number)
