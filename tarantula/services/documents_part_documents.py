"""Documents of an item: looked for, and one of them with all that is known of it."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.states import state_meaning
from tarantula.services.context import ServiceContext
from tarantula.services.documents import DocumentDetail, document_detail, find_document
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.store.document_query import DocumentFilter, DocumentMatches, find_documents, find_linking_documents
from tarantula.store.listings import find_item
from tarantula.tables.publications import Document, Server

__all__ = [
    "DocumentDetail",
    "DocumentFilters",
    "DocumentSummary",
    "documents_linking_to",
    "list_documents",
    "get_document",
]

SMALLEST, LARGEST = -(2**15), 2**15 - 1


class DocumentFilters(BaseModel):
    """What is looked for; what is not told may be anything."""

    state: int | None = Field(default=None, ge=SMALLEST, le=LARGEST)
    type: str | None = Field(default=None, max_length=127)
    server: str | None = Field(default=None, max_length=270)
    depth: int | None = Field(default=None, ge=0, le=2**31 - 1)
    words: str = Field(default="", max_length=200)
    """All of them are in its URL, in any case."""

    def wanted(self) -> DocumentFilter:
        """Return it for the search; what is empty is not told."""
        return DocumentFilter(
            self.state, _told(self.type), _told(self.server), self.depth, self.words.replace("\0", " ").strip()
        )


class DocumentSummary(BaseModel):
    """One URL of an item."""

    id: int
    url: str
    server: str
    depth: int
    state: int
    meaning: str
    reason: str | None
    type: str | None
    size: int | None
    links: int | None
    collected_at: datetime | None


def list_documents(
    desk: ServiceContext, urn: str, filters: DocumentFilters | None = None, limit: int = 50, after: str | None = None
) -> ResultPage[DocumentSummary]:
    """Return documents in the order in which they became known.

    A page may have fewer than *limit* rows, and still not be the last: a search that takes long says how far it is.
    """
    wanted = (filters or DocumentFilters()).wanted()
    place = read_cursor(after) or 0
    with desk.reading() as session:
        found = find_documents(session, find_item(session, urn), wanted, checked_limit(limit), place)
        return _page(session, found)


def get_document(desk: ServiceContext, urn: str, document_id: int) -> DocumentDetail:
    """Return one document: its reason, headers, via, links out, other captures."""
    with desk.reading() as session:
        return document_detail(session, desk.installation.items, find_item(session, urn), document_id)


def documents_linking_to(
    desk: ServiceContext, urn: str, document_id: int, limit: int = 50, after: str | None = None
) -> ResultPage[DocumentSummary]:
    """Return documents of the item that have a link to one of them; it is a search like any other."""
    place = read_cursor(after) or 0
    with desk.reading() as session:
        item = find_item(session, urn)
        target = find_document(session, item, document_id).key
        return _page(session, find_linking_documents(session, item, target, checked_limit(limit), place))


def _page(session: Session, found: DocumentMatches) -> ResultPage[DocumentSummary]:
    rows = session.execute(
        select(Document, Server.name)
        .join(Server, Server.id == Document.server_id)
        .where(Document.id.in_(found.ids))
        .order_by(Document.id)
    )
    return ResultPage(
        rows=[_row(document, server) for document, server in rows],
        next=write_cursor(found.next) if found.next is not None else None,
        searched=found.searched,
    )


def _row(document: Document, server: str) -> DocumentSummary:
    return DocumentSummary(
        id=document.id,
        url=document.url,
        server=server,
        depth=document.depth,
        state=document.state,
        meaning=state_meaning(document.state),
        reason=document.reason,
        type=document.type,
        size=document.size,
        links=document.links,
        collected_at=document.collected_at,
    )


def _told(text: str | None) -> str | None:
    return (text or "").replace("\0", "").strip().lower() or None
