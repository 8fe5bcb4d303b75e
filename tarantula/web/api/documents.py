"""API routes of documents, and of the differences between two items."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict

from tarantula.services import documents, walkthrough
from tarantula.services.diff import ItemDifferences, compare_items
from tarantula.services.documents import MAX_STATE, MIN_STATE, DocumentDetail, DocumentFilters, DocumentSummary
from tarantula.services.pagination import ResultPage
from tarantula.web.api.common import Cursor, Limit, RequestContext, Urn

router = APIRouter(tags=["documents"])

DocumentNumber = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of a document.")]


@router.get("/items/{urn}/documents", summary="Documents of an item")
def list_documents(
    desk: RequestContext,
    urn: Urn,
    state: Annotated[int | None, Query(ge=MIN_STATE, le=MAX_STATE)] = None,
    type: Annotated[str | None, Query(max_length=127, description="Its MIME type.")] = None,
    server: Annotated[str | None, Query(max_length=270)] = None,
    depth: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    words: Annotated[str, Query(max_length=200, description="All of them are in its URL, in any case.")] = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[DocumentSummary]:
    """Return documents in the order in which they became known; a page may be short and not be the last."""
    filters = DocumentFilters(state=state, type=type, server=server, depth=depth, words=words)
    return documents.list_documents(desk, urn, filters, limit, after)


@router.get("/items/{urn}/documents/{number}", summary="One document")
def show_document(desk: RequestContext, urn: Urn, number: DocumentNumber) -> DocumentDetail:
    """Return a document's reason, headers, via, links out and other captures."""
    return documents.get_document(desk, urn, number)


@router.get("/items/{urn}/documents/{number}/links-in", summary="Documents that name one")
def list_links_in(
    desk: RequestContext, urn: Urn, number: DocumentNumber, limit: Limit = 50, after: Cursor = None
) -> ResultPage[DocumentSummary]:
    """Return documents of the item that have a link to one of them."""
    return documents.documents_linking_to(desk, urn, number, limit, after)


differences_router = APIRouter(tags=["differences"])


class DiffPieceRow(BaseModel):
    """A part of a line: same, gone or new."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    text: str


class DiffLineRow(BaseModel):
    """A line of one text or of both: same, gone, new, or changed."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    before: int | None
    after: int | None
    pieces: list[DiffPieceRow]


class TextDiffRow(BaseModel):
    """The changed places of a text, or why there are none to show."""

    model_config = ConfigDict(from_attributes=True)

    hunks: list[list[DiffLineRow]]
    note: str


@differences_router.get("/items/{urn}/differences", summary="What changed since another item")
def list_differences(
    desk: RequestContext,
    urn: Urn,
    before: Annotated[str, Query(max_length=200, description="The earlier item.")],
    same: Annotated[bool, Query(description="Also what is the same.")] = False,
    limit: Limit = 50,
    after: Cursor = None,
) -> ItemDifferences:
    """Return what is new, changed and gone between an earlier item and this one."""
    return compare_items(desk, before, urn, same=same, limit=limit, place=after)


@differences_router.get("/items/{urn}/documents/{number}/difference", summary="What changed in a text")
def show_difference(desk: RequestContext, urn: Urn, number: DocumentNumber) -> TextDiffRow:
    """Return what changed in the text of a document since the item before."""
    return TextDiffRow.model_validate(walkthrough.compare_with_previous(desk, urn, number))
