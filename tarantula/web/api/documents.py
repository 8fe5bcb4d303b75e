"""API routes of documents, and of the differences between two items."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict

from tarantula.services import documents, walkthrough
from tarantula.services.context import ResultPage
from tarantula.services.diff import ItemDifferences, compare_items
from tarantula.services.documents import MAX_STATE, MIN_STATE, DocumentDetail, DocumentFilters, DocumentSummary
from tarantula.web.api.common import Cursor, Limit, RequestContext, Urn
from tarantula.web.limits import PooledRoute

router = APIRouter(tags=["documents"], route_class=PooledRoute)

DocumentNumber = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of a document.")]


@router.get("/items/{urn}/documents", summary="Documents of an item")
def list_documents(
    context: RequestContext,
    urn: Urn,
    state: Annotated[int | None, Query(ge=MIN_STATE, le=MAX_STATE)] = None,
    type: Annotated[str | None, Query(max_length=127, description="The MIME type.")] = None,
    server: Annotated[str | None, Query(max_length=270)] = None,
    depth: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    words: Annotated[str, Query(max_length=200, description="Words that the URL contains; case is ignored.")] = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[DocumentSummary]:
    """Return documents in order of discovery. A page may be short without being the last one."""
    filters = DocumentFilters(state=state, type=type, server=server, depth=depth, words=words)
    return documents.list_documents(context, urn, filters, limit, after)


@router.get("/items/{urn}/documents/{number}", summary="One document")
def show_document(context: RequestContext, urn: Urn, number: DocumentNumber) -> DocumentDetail:
    """Return a document with its reason, headers, referring page, outgoing links and other captures."""
    return documents.get_document(context, urn, number)


@router.get("/items/{urn}/documents/{number}/links-in", summary="Incoming links of a document")
def list_links_in(
    context: RequestContext, urn: Urn, number: DocumentNumber, limit: Limit = 50, after: Cursor = None
) -> ResultPage[DocumentSummary]:
    """Return the documents of the item that link to a document."""
    return documents.documents_linking_to(context, urn, number, limit, after)


differences_router = APIRouter(tags=["differences"], route_class=PooledRoute)


class DiffPieceRow(BaseModel):
    """Part of a line: same, gone or new."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    text: str


class DiffLineRow(BaseModel):
    """Line of one text or of both: same, gone, new or changed."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    before: int | None
    after: int | None
    pieces: list[DiffPieceRow]


class TextDiffRow(BaseModel):
    """The changed parts of a text, or the reason why there are none."""

    model_config = ConfigDict(from_attributes=True)

    hunks: list[list[DiffLineRow]]
    note: str
    left_out: str | None
    """Why the text, or a part of it, could not be compared: missing, damaged, withheld or too-large."""


@differences_router.get("/items/{urn}/differences", summary="Compare with another item")
def list_differences(
    context: RequestContext,
    urn: Urn,
    before: Annotated[str, Query(max_length=200, description="The earlier item.")],
    same: Annotated[bool, Query(description="Include unchanged documents.")] = False,
    limit: Limit = 50,
    after: Cursor = None,
) -> ItemDifferences:
    """Return the new, changed and missing documents of this item compared with an earlier one."""
    return compare_items(context, before, urn, same=same, limit=limit, place=after)


@differences_router.get("/items/{urn}/documents/{number}/difference", summary="Compare the text of a document")
def show_difference(context: RequestContext, urn: Urn, number: DocumentNumber) -> TextDiffRow:
    """Return the differences between the text of a document and its text in the previous item."""
    return TextDiffRow.model_validate(walkthrough.compare_with_previous(context, urn, number))
