"""Documents of an item: looked for, and one of them with all that is known of it."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.states import meaning
from tarantula.services.context import Desk
from tarantula.services.documents import DocumentDetail, detail_of, document_of
from tarantula.services.pagination import Page, checked_limit, read_cursor, write_cursor
from tarantula.store.document_query import Findings, Wanted, find, find_naming
from tarantula.store.listings import find_item
from tarantula.tables.publications import Document, Server

__all__ = ["DocumentDetail", "DocumentFilters", "DocumentRow", "links_in", "listed", "shown"]

SMALLEST, LARGEST = -(2**15), 2**15 - 1


class DocumentFilters(BaseModel):
    """What is looked for; what is not told may be anything."""

    state: int | None = Field(default=None, ge=SMALLEST, le=LARGEST)
    type: str | None = Field(default=None, max_length=127)
    server: str | None = Field(default=None, max_length=270)
    depth: int | None = Field(default=None, ge=0, le=2**31 - 1)
    words: str = Field(default="", max_length=200)
    """All of them are in its URL, in any case."""

    def wanted(self) -> Wanted:
        """Return it for the search; what is empty is not told."""
        return Wanted(
            self.state, _told(self.type), _told(self.server), self.depth, self.words.replace("\0", " ").strip()
        )


class DocumentRow(BaseModel):
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


def listed(
    desk: Desk, urn: str, filters: DocumentFilters | None = None, limit: int = 50, after: str | None = None
) -> Page[DocumentRow]:
    """Return documents in the order in which they became known.

    A page may have fewer than *limit* rows, and still not be the last: a search that takes long says how far it is.
    """
    wanted = (filters or DocumentFilters()).wanted()
    place = read_cursor(after) or 0
    with desk.reading() as session:
        found = find(session, find_item(session, urn), wanted, checked_limit(limit), place)
        return _page(session, found)


def shown(desk: Desk, urn: str, document_id: int) -> DocumentDetail:
    """Return one document: its reason, headers, via, links out, other captures."""
    with desk.reading() as session:
        return detail_of(session, desk.installation.items, find_item(session, urn), document_id)


def links_in(desk: Desk, urn: str, document_id: int, limit: int = 50, after: str | None = None) -> Page[DocumentRow]:
    """Return documents of the item that have a link to one of them; it is a search like any other."""
    place = read_cursor(after) or 0
    with desk.reading() as session:
        item = find_item(session, urn)
        target = document_of(session, item, document_id).key
        return _page(session, find_naming(session, item, target, checked_limit(limit), place))


def _page(session: Session, found: Findings) -> Page[DocumentRow]:
    rows = session.execute(
        select(Document, Server.name)
        .join(Server, Server.id == Document.server_id)
        .where(Document.id.in_(found.ids))
        .order_by(Document.id)
    )
    return Page(
        rows=[_row(document, server) for document, server in rows],
        next=write_cursor(found.next) if found.next is not None else None,
        searched=found.searched,
    )


def _row(document: Document, server: str) -> DocumentRow:
    return DocumentRow(
        id=document.id,
        url=document.url,
        server=server,
        depth=document.depth,
        state=document.state,
        meaning=meaning(document.state),
        reason=document.reason,
        type=document.type,
        size=document.size,
        links=document.links,
        collected_at=document.collected_at,
    )


def _told(text: str | None) -> str | None:
    return (text or "").replace("\0", "").strip().lower() or None
