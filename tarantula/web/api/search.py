"""Searching what was collected, and suggesting what should be."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.lifecycle.suggestions import SuggestionStatus
from tarantula.search.results import MOST_PAGES, SearchOrder, SearchRequest, SearchResults
from tarantula.services import search, suggestions
from tarantula.services.search import SearchPanel
from tarantula.web.api.common import Number, RequestContext, Urn

router = APIRouter()


class SuggestRequest(BaseModel, extra="forbid"):
    """What somebody suggests."""

    url: str = Field(max_length=10_000, examples=["http://www.fc.ul.pt/"])


@router.get("/search", summary="Search what was collected", tags=["search"])
def search_documents(
    desk: RequestContext,
    query: Annotated[str, Query(description='Words, "phrases", OR, -word, site: and others.')],
    page: Annotated[int, Query(ge=1, le=MOST_PAGES, description="Ten results make a page.")] = 1,
    order: Annotated[SearchOrder, Query(description="What comes first.")] = SearchOrder.BEST,
    unfold: Annotated[bool, Query(description="Show equal and nearly equal documents one by one.")] = False,
    explain: Annotated[bool, Query(description="Say how each score came about.")] = False,
) -> SearchResults:
    """Return a page of what was found."""
    return search.search_documents(
        desk, SearchRequest(query=query, page=page, order=order, unfold=unfold, explain=explain)
    )


@router.get("/search/completions", summary="How a query may go on", tags=["search"])
def complete_query(
    desk: RequestContext, prefix: Annotated[str, Query(description="What was typed so far.")]
) -> list[str]:
    """Return completions of what somebody types, the likeliest first."""
    return search.completions(desk, prefix)


@router.get("/search/panel", summary="The search engine at work", tags=["search"])
def show_panel(desk: RequestContext) -> SearchPanel:
    """Return what is searched for most, who answers, and how far the indexes are. For administrators."""
    return search.search_panel(desk)


@router.post("/suggestions", summary="Suggest a URL", status_code=202, tags=["search"])
def suggest_url(desk: RequestContext, body: SuggestRequest) -> SuggestionStatus:
    """Have a URL collected, within the rules of the publication for suggestions; a reader's token is not enough."""
    return suggestions.suggest(desk, body.url)


@router.get("/suggestions/{urn}/{number}", summary="What became of a suggestion", tags=["search"])
def show_suggestion(desk: RequestContext, urn: Urn, number: Number) -> SuggestionStatus:
    """Return how far a URL is that was suggested."""
    return suggestions.get_suggestion(desk, urn, number)
