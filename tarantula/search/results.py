"""Search requests and results: the same models for the command, the pages, the barrels and the gateway.

Parts of a result are dataclasses: they are validated where a result is received, not where it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from tarantula.core.validation import MessageText
from tarantula.deprecated import former_names

RESULTS_PER_PAGE = 10
MOST_PAGES = 1_000

# Not as a function, which would make every name of this module valid for type checkers.
globals()["__getattr__"] = former_names(__name__)


class SearchOrder(StrEnum):
    """Order of search results."""

    BEST = "best"
    """By words and links."""
    WORDS = "words"
    """By words alone (BM25)."""
    TF_IDF = "tf-idf"
    """By frequency of the words in the document times rarity."""
    LINKS = "links"
    """By number of inlinks."""
    NEWEST = "newest"


def _readable(query: object) -> object:
    """Replace lone surrogates, which a command line may contain."""
    return query.encode("utf-8", "replace").decode() if isinstance(query, str) else query


class SearchRequest(BaseModel):
    """A search request."""

    query: Annotated[str, BeforeValidator(_readable)]
    page: int = Field(default=1, ge=1, le=MOST_PAGES)
    order: SearchOrder = SearchOrder.BEST
    unfold: bool = False
    """Show equal and nearly equal documents one by one."""
    explain: bool = False


@dataclass(slots=True)
class CitationPiece:
    """Part of an excerpt, marked if it matches the query."""

    text: str
    marked: bool = False


@dataclass(slots=True)
class SearchResult:
    """A found document."""

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
    """Other documents with the same bytes."""
    alike: int
    """Other documents that are nearly equal."""
    explanation: str | None = None


@dataclass(slots=True)
class FacetCount:
    """Number of documents with a facet value."""

    value: str
    documents: int


@dataclass(slots=True)
class SearchFacets:
    """Facets of the results, the most frequent values first."""

    servers: list[FacetCount] = field(default_factory=list)
    types: list[FacetCount] = field(default_factory=list)
    years: list[FacetCount] = field(default_factory=list)


class SearchResults(BaseModel):
    """One page of search results."""

    query: str
    page: int
    pages: int
    documents: int
    """Number of matching documents."""
    results: list[SearchResult]
    facets: SearchFacets
    notes: list[MessageText] = []
    """Notes for the user on parts of the query that were ignored or reinterpreted."""
    did_you_mean: str | None = None
    place: int = 0
    """Journal position of the index that answered."""


class CompletionRequest(BaseModel):
    """The text typed so far."""

    prefix: Annotated[str, BeforeValidator(_readable)] = Field(max_length=10_000)


class BarrelSearchRequest(SearchRequest):
    """A search that a gateway forwards to a barrel."""

    withheld: list[str]
    """The URLs that are withheld now, each in one of its spellings."""


class BarrelCompletionRequest(CompletionRequest):
    """A text typed so far that a gateway forwards to a barrel."""

    withheld: list[str]
    """The URLs that are withheld now, each in one of its spellings."""


class Completions(BaseModel):
    """Completions, the most likely first."""

    completions: list[str] = []
    place: int = 0
    """Journal position of the index that answered."""
