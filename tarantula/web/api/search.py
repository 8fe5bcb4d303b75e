"""API routes of search, completions and suggested URLs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.lifecycle.suggested_urls import SuggestionStatus
from tarantula.search.results import MOST_PAGES, SearchOrder, SearchRequest, SearchResults
from tarantula.services import search, suggestions
from tarantula.services.search import SearchPanel
from tarantula.web.api.common import Number, RequestContext, Urn
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)


class SuggestRequest(BaseModel, extra="forbid"):
    """A suggested URL."""

    url: str = Field(max_length=10_000, examples=["http://www.fc.ul.pt/"])


@router.get("/search", summary="Search", tags=["search"])
def search_documents(
    context: RequestContext,
    query: Annotated[str, Query(description='Words, "phrases", OR, -word, site: and other filters.')],
    page: Annotated[int, Query(ge=1, le=MOST_PAGES, description="Page number; a page has ten results.")] = 1,
    order: Annotated[SearchOrder, Query(description="Order of the results.")] = SearchOrder.BEST,
    unfold: Annotated[bool, Query(description="List duplicates and near-duplicates separately.")] = False,
    explain: Annotated[bool, Query(description="Explain the score of each result.")] = False,
) -> SearchResults:
    """Return one page of results."""
    return search.search_documents(
        context, SearchRequest(query=query, page=page, order=order, unfold=unfold, explain=explain)
    )


@router.get("/search/completions", summary="Complete a query", tags=["search"])
def complete_query(
    context: RequestContext, prefix: Annotated[str, Query(description="The text typed so far.")]
) -> list[str]:
    """Return completions of a query, the most likely first."""
    return search.completions(context, prefix)


@router.get("/search/panel", summary="State of the search engine", tags=["search"])
def show_panel(context: RequestContext) -> SearchPanel:
    """Return the most frequent queries, the barrels and the index backlog. For administrators."""
    return search.search_panel(context)


@router.post("/suggestions", summary="Suggest a URL", status_code=202, tags=["search"])
def suggest_url(context: RequestContext, body: SuggestRequest) -> SuggestionStatus:
    """Collect a URL within the rules of the publication for suggestions. Tokens of readers are refused."""
    return suggestions.suggest(context, body.url)


@router.get("/suggestions/{urn}/{number}", summary="State of a suggestion", tags=["search"])
def show_suggestion(context: RequestContext, urn: Urn, number: Number) -> SuggestionStatus:
    """Return the state of a suggested URL."""
    return suggestions.get_suggestion(context, urn, number)
