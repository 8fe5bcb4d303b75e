"""Documents of an item: filtered lists, and one document with its headers, links and other captures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.archive.replay import find_document
from tarantula.core.errors import WithheldError
from tarantula.core.reasons import reason_fields
from tarantula.core.states import ItemState, state_meaning
from tarantula.core.validation import MessageText
from tarantula.fetch.exchange import DownloadError
from tarantula.fetch.response import parse_head
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, LinkRow, Server
from tarantula.services.context import ResultPage, ServiceContext, checked_limit, read_cursor, write_cursor
from tarantula.store import listings
from tarantula.store.captures import MissingCapture, has_capture, record_of
from tarantula.store.document_query import DocumentFilter, DocumentMatches, find_documents, find_linking_documents
from tarantula.store.homes import FilesElsewhere
from tarantula.store.listings import DocumentRow, find_item
from tarantula.store.warc_reader import DamagedRecord, read_http_head
from tarantula.store.withholding import WithheldMark, withheld_mark

MAX_LINKS = 200
MAX_OTHER_CAPTURES = 100
MIN_STATE, MAX_STATE = -(2**15), 2**15 - 1
"""Range of a smallint column."""


class LinkedDocument(BaseModel):
    """A document at the end of a link."""

    id: int
    url: str
    state: int
    meaning: str
    kind: str
    """Kind of the link."""
    withheld: WithheldMark | None


class OtherCapture(BaseModel):
    """The same URL in another item."""

    urn: str
    id: int
    state: int
    meaning: str
    collected_at: datetime | None
    same: bool
    """Whether its body is identical."""


class DocumentDetail(BaseModel):
    """A document of an item, with its headers, links and other captures."""

    id: int
    urn: str
    url: str
    server: str
    depth: int
    kind: str
    state: int
    meaning: str
    reason: str | None
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    rule: str | None
    tries: int
    type: str | None
    charset: str | None
    size: int | None
    digest: str | None
    collected_at: datetime | None
    warc: str | None
    warc_offset: int | None
    has_body: bool
    """Whether its body is stored, in this item or an earlier one."""
    withheld: WithheldMark | None
    """Whether its URL is withheld: then its body and headers are not shown."""
    is_revisit: bool
    """Whether its body is in an earlier record."""
    status_line: str | None
    headers: list[tuple[str, str]]
    headers_missing: MessageText | None
    """Why the headers cannot be read."""
    via: LinkedDocument | None
    """The document with the first link to it."""
    links: int
    """Number of its links."""
    links_out: list[LinkedDocument]
    """The first of its links that lead to documents of the item."""
    other_captures: list[OtherCapture]


class DocumentFilters(BaseModel):
    """Filters of a document list; ``None`` and empty match everything."""

    state: int | None = Field(default=None, ge=MIN_STATE, le=MAX_STATE)
    type: str | None = Field(default=None, max_length=127)
    server: str | None = Field(default=None, max_length=270)
    depth: int | None = Field(default=None, ge=0, le=2**31 - 1)
    words: str = Field(default="", max_length=200)
    """Words that all occur in the URL, ignoring case."""

    def wanted(self) -> DocumentFilter:
        """Return the filter for the database query."""
        return DocumentFilter(
            self.state,
            _normalized(self.type),
            _normalized(self.server),
            self.depth,
            self.words.replace("\0", " ").strip(),
        )


class DocumentSummary(BaseModel):
    """A row of a document list."""

    id: int
    url: str
    server: str
    depth: int
    state: int
    meaning: str
    reason: str | None
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    type: str | None
    size: int | None
    links: int | None
    collected_at: datetime | None
    withheld: WithheldMark | None


def list_documents(
    context: ServiceContext, urn: str, filters: DocumentFilters | None = None, limit: int = 50, after: str | None = None
) -> ResultPage[DocumentSummary]:
    """Return documents in the order of discovery.

    A page can have fewer than *limit* rows without being the last: a slow search returns early with its progress.
    """
    wanted = (filters or DocumentFilters()).wanted()
    place = read_cursor(after) or 0
    with context.reading() as session:
        found = find_documents(session, find_item(session, urn), wanted, checked_limit(limit), place)
        return _page(session, found)


def iterate_documents(context: ServiceContext, urn: str) -> Iterator[DocumentRow]:
    """Return the documents of an item, in the order in which they were found."""
    with context.reading() as session:
        yield from listings.list_documents(session, find_item(session, urn))


def get_document(context: ServiceContext, urn: str, document_id: int) -> DocumentDetail:
    """Return one document with its headers, links and other captures."""
    with context.reading() as session:
        return document_detail(session, context.installation.items, find_item(session, urn), document_id)


def documents_linking_to(
    context: ServiceContext, urn: str, document_id: int, limit: int = 50, after: str | None = None
) -> ResultPage[DocumentSummary]:
    """Return the documents of an item that link to one of its documents, as a page of a search."""
    place = read_cursor(after) or 0
    with context.reading() as session:
        item = find_item(session, urn)
        target = find_document(session, item, document_id).key
        return _page(session, find_linking_documents(session, item, target, checked_limit(limit), place))


def document_detail(session: Session, items: Path, item: Item, document_id: int) -> DocumentDetail:
    """Return a document with its headers, links and other captures; *items* is the folder of items."""
    document = find_document(session, item, document_id)
    status_line, headers, missing = _head(session, items, document)
    via = session.get(Document, document.via_id) if document.via_id is not None else None
    return DocumentDetail(
        id=document.id,
        urn=item.urn,
        url=document.url,
        server=session.get_one(Server, document.server_id).name,
        depth=document.depth,
        kind=_kind(document.kind),
        state=document.state,
        meaning=state_meaning(document.state),
        **reason_fields(document.reason),
        rule=document.rule,
        tries=document.tries,
        type=document.type,
        charset=document.charset,
        size=document.size,
        digest=document.digest,
        collected_at=document.collected_at,
        warc=document.warc,
        warc_offset=document.warc_offset,
        has_body=has_capture(document),
        withheld=withheld_mark(session, document.url),
        is_revisit=document.refers_to_id is not None,
        status_line=status_line,
        headers=headers,
        headers_missing=missing,
        via=_linked(session, via, document.kind) if via is not None and via.item_id == item.id else None,
        links=session.scalar(select(func.count()).where(LinkRow.document_id == document.id)) or 0,
        links_out=_links_out(session, document),
        other_captures=_other_captures(session, document),
    )


def _head(session: Session, items: Path, document: Document) -> tuple[str | None, list[tuple[str, str]], str | None]:
    try:
        record = record_of(session, items, document)
        if record is None:
            return None, [], None
        head = read_http_head(*record)
        line = head.partition(b"\n")[0].strip().decode("latin-1")
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in parse_head(head).headers]
        return line, pairs, None
    except (DamagedRecord, DownloadError, FilesElsewhere, MissingCapture, WithheldError) as error:
        return None, [], str(error)


def _links_out(session: Session, document: Document) -> list[LinkedDocument]:
    rows = session.execute(
        select(Document, LinkRow.kind)
        .join(Document, (Document.item_id == document.item_id) & (Document.key == LinkRow.target))
        .where(LinkRow.document_id == document.id)
        .limit(MAX_LINKS)
    )
    return sorted((_linked(session, target, kind) for target, kind in rows), key=lambda target: target.id)


def _other_captures(session: Session, document: Document) -> list[OtherCapture]:
    """Find the same URL in other items: one index lookup for each item."""
    rows = session.execute(
        select(Item.urn, Document)
        .join(Document, (Document.item_id == Item.id) & (Document.key == document.key))
        .where(Item.id != document.item_id, Item.state != ItemState.REMOVING)
        .order_by(Item.id.desc())
        .limit(MAX_OTHER_CAPTURES)
    )
    return [
        OtherCapture(
            urn=urn,
            id=other.id,
            state=other.state,
            meaning=state_meaning(other.state),
            collected_at=other.collected_at,
            same=document.digest is not None and other.digest == document.digest,
        )
        for urn, other in rows
    ]


def _linked(session: Session, document: Document, kind: int) -> LinkedDocument:
    return LinkedDocument(
        id=document.id,
        url=document.url,
        state=document.state,
        meaning=state_meaning(document.state),
        kind=_kind(kind),
        withheld=withheld_mark(session, document.url),
    )


def _kind(number: int) -> str:
    return LinkKind(number).name.lower()


def _page(session: Session, found: DocumentMatches) -> ResultPage[DocumentSummary]:
    rows = session.execute(
        select(Document, Server.name)
        .join(Server, Server.id == Document.server_id)
        .where(Document.id.in_(found.ids))
        .order_by(Document.id)
    )
    return ResultPage(
        rows=[_row(session, document, server) for document, server in rows],
        next=write_cursor(found.next) if found.next is not None else None,
        searched=found.searched,
    )


def _row(session: Session, document: Document, server: str) -> DocumentSummary:
    return DocumentSummary(
        id=document.id,
        url=document.url,
        server=server,
        depth=document.depth,
        state=document.state,
        meaning=state_meaning(document.state),
        **reason_fields(document.reason),
        type=document.type,
        size=document.size,
        links=document.links,
        collected_at=document.collected_at,
        withheld=withheld_mark(session, document.url),
    )


def _normalized(text: str | None) -> str | None:
    return (text or "").replace("\0", "").strip().lower() or None
