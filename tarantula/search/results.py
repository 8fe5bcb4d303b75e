"""What somebody asks for, and what was found: the same for the command, the pages, the barrels and the gateway.

The parts of an answer are checked where it is read. Whoever makes them, a hundred for one answer, need not check them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

RESULTS_PER_PAGE = 10
MOST_PAGES = 1_000


class SearchOrder(StrEnum):
    """What comes first."""

    BEST = "best"
    """By the words and the links together."""
    WORDS = "words"
    """By the words alone (BM25)."""
    TF_IDF = "tf-idf"
    """By how often the words are there, and how rare they are elsewhere."""
    LINKS = "links"
    """By how many documents lead there."""
    NEWEST = "newest"


def _readable(query: object) -> object:
    """Put a sign in the place of what is no letter in any encoding, as a command line may have it."""
    return query.encode("utf-8", "replace").decode() if isinstance(query, str) else query


class SearchRequest(BaseModel):
    """A wish."""

    query: Annotated[str, BeforeValidator(_readable)]
    page: int = Field(default=1, ge=1, le=MOST_PAGES)
    order: SearchOrder = SearchOrder.BEST
    unfold: bool = False
    """Show equal and nearly equal documents one by one."""
    explain: bool = False


@dataclass(slots=True)
class CitationPiece:
    """A piece of a citation; those that were asked for are marked."""

    text: str
    marked: bool = False


@dataclass(slots=True)
class SearchResult:
    """A document that was found."""

    document: int
    url: str
    title: str
    server: str
    type: str
    language: str
    publication: str
    urn: str
    collected: datetime
    citation: list[CitationPiece]
    score: float
    inlinks: int
    same: int
    """Others with the same bytes."""
    alike: int
    """Others that are nearly equal."""
    explanation: str | None = None


@dataclass(slots=True)
class FacetCount:
    """How many of a kind there are."""

    value: str
    documents: int


@dataclass(slots=True)
class SearchFacets:
    """What was found, by kinds; the most frequent first."""

    servers: list[FacetCount] = field(default_factory=list)
    types: list[FacetCount] = field(default_factory=list)
    years: list[FacetCount] = field(default_factory=list)


class SearchResults(BaseModel):
    """An answer."""

    query: str
    page: int
    pages: int
    documents: int
    """How many were found."""
    results: list[SearchResult]
    facets: SearchFacets
    notes: list[str] = []
    """What was not understood as it may have been meant, and what was done instead."""
    did_you_mean: str | None = None
    place: int = 0
    """Up to where the journal is in the index that answered."""


class CompletionRequest(BaseModel):
    """What somebody has typed so far."""

    prefix: Annotated[str, BeforeValidator(_readable)] = Field(max_length=10_000)


class Completions(BaseModel):
    """How it may go on, the likeliest first."""

    completions: list[str] = []
    place: int = 0
    """Up to where the journal is in the index that answered."""
