"""Documents of an item."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from tarantula.services import documents_part_documents
from tarantula.services.documents_part_documents import (
    LARGEST,
    SMALLEST,
    DocumentDetail,
    DocumentFilters,
    DocumentSummary,
)
from tarantula.services.pagination import ResultPage
from tarantula.web.api.common import Cursor, Limit, RequestContext, Urn

router = APIRouter(tags=["documents"])

DocumentNumber = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of a document.")]


@router.get("/items/{urn}/documents", summary="Documents of an item")
def list_documents(
    desk: RequestContext,
    urn: Urn,
    state: Annotated[int | None, Query(ge=SMALLEST, le=LARGEST)] = None,
    type: Annotated[str | None, Query(max_length=127, description="Its MIME type.")] = None,
    server: Annotated[str | None, Query(max_length=270)] = None,
    depth: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    words: Annotated[str, Query(max_length=200, description="All of them are in its URL, in any case.")] = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[DocumentSummary]:
    """Return documents in the order in which they became known; a page may be short and not be the last."""
    filters = DocumentFilters(state=state, type=type, server=server, depth=depth, words=words)
    return documents_part_documents.list_documents(desk, urn, filters, limit, after)


@router.get("/items/{urn}/documents/{number}", summary="One document")
def show_document(desk: RequestContext, urn: Urn, number: DocumentNumber) -> DocumentDetail:
    """Return a document's reason, headers, via, links out and other captures."""
    return documents_part_documents.get_document(desk, urn, number)


@router.get("/items/{urn}/documents/{number}/links-in", summary="Documents that name one")
def list_links_in(
    desk: RequestContext, urn: Urn, number: DocumentNumber, limit: Limit = 50, after: Cursor = None
) -> ResultPage[DocumentSummary]:
    """Return documents of the item that have a link to one of them."""
    return documents_part_documents.documents_linking_to(desk, urn, number, limit, after)
