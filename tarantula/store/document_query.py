"""Queries for the documents of an item, and for those whose texts the search index lacks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, collate, func, select, text
from sqlalchemy.orm import InstrumentedAttribute, Session

from tarantula.core.reasons import Reason, reason_fields
from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState
from tarantula.core.urls import key_of
from tarantula.models import TRIED, Document, Item, LinkRow, Server, SkippedText
from tarantula.publications.config import PublicationConfig

IDS_PER_STEP = 8_000
"""Ids scanned before the elapsed time is checked; doubled while scanning is fast."""
QUERY_TIME_LIMIT_SECONDS = 0.15
"""Seconds after which a query returns an incomplete page."""


UNINDEXED_STATES = (
    DocumentState.COLLECTING,
    DocumentState.SERVER_NOT_ACCEPTED,
    DocumentState.WAITING,
    DocumentState.OVER_LIMIT,
)
"""States that a document may have before it is tried: no index covers them."""


class DocumentFilter(NamedTuple):
    """Conditions on documents; None and an empty text match everything."""

    state: int | None = None
    type: str | None = None
    server: str | None = None
    depth: int | None = None
    words: str = ""
    """All of them occur in the URL, in upper or lower case."""


class DocumentMatches(NamedTuple):
    """One page of matching document ids."""

    ids: list[int]
    next: int | None
    """The id after which the next page starts; None at the end."""
    searched: float
    """Scanned share of the id range, from 0 to 1."""


def find_documents(session: Session, item: Item, where: DocumentFilter, limit: int, after: int = 0) -> DocumentMatches:
    """Return the next page of documents of an item that match a filter, in order of discovery."""
    conditions = [_item_condition(item, where), *(_url_contains(session, word) for word in where.words.split())]
    if where.server is not None:
        server_id = session.scalar(select(Server.id).where(Server.name == where.server))
        if server_id is None:
            return DocumentMatches([], None, 1.0)
        conditions.append(Document.server_id == server_id)
    if where.depth is not None:
        conditions.append(Document.depth == where.depth)
    return _scan(session, item, lambda ids: ids.where(*conditions), limit, after)


def find_linking_documents(session: Session, item: Item, target: bytes, limit: int, after: int = 0) -> DocumentMatches:
    """Return the next page of documents that link to a URL, given by its key."""
    # Scan from the linking documents: an index by target would cost more than all other indexes together.
    links_to_target = (LinkRow.document_id == Document.id) & (LinkRow.target == target)
    has_links = (_item_condition(item, DocumentFilter()), Document.links > 0)
    return _scan(session, item, lambda ids: ids.join(LinkRow, links_to_target).where(*has_links), limit, after)


def last_document_id(session: Session, item_id: int) -> int | None:
    """Return the highest document id of an item."""
    return session.scalar(select(func.max(Document.id)).where(Document.item_id == item_id))


def last_collected_at(item_id: int | InstrumentedAttribute[int]) -> Select[datetime | None]:
    """Select when a document of an item was last requested: no WARC file of it is begun after that."""
    at = Document.collected_at
    # With the condition, the index `ix_document_done` is used.
    return select(at).where(Document.item_id == item_id, at.is_not(None)).order_by(at.desc()).limit(1)


def _scan(
    session: Session, item: Item, narrow: Callable[[Select[tuple[int]]], Select[tuple[int]]], limit: int, after: int
) -> DocumentMatches:
    first, last = document_id_range(session, item)
    began, step = monotonic(), IDS_PER_STEP
    found: list[int] = []
    after = max(after, first - 1)
    while after < last:
        step_began, end = monotonic(), min(after + step, last)
        ids = narrow(select(Document.id)).where(Document.id > after, Document.id <= end)
        found += session.scalars(ids.order_by(Document.id).limit(limit + 1 - len(found)))
        after = found[limit - 1] if len(found) > limit else end
        if len(found) > limit or (monotonic() - began > QUERY_TIME_LIMIT_SECONDS and after < last):
            return DocumentMatches(found[:limit], after, round((after - first + 1) / (last - first + 1), 4))
        if monotonic() - step_began < QUERY_TIME_LIMIT_SECONDS / 8:
            step *= 2
    return DocumentMatches(found, None, 1.0)


def document_id_range(session: Session, item: Item) -> tuple[int, int]:
    """Return the lowest and highest document id of an item; the base document has the lowest."""
    base = PublicationConfig.model_validate(item.configuration).base_url
    of_item = Document.item_id == item.id
    first = session.scalar(select(Document.id).where(of_item, Document.key == key_of(base)))
    if first is None:
        first = session.scalar(select(func.min(Document.id)).where(of_item)) or 1
    if ItemState(item.state) in ACTIVE_ITEM_STATES:
        return first, session.scalar(select(func.max(Document.id))) or 0
    return first, item.last_document_id or last_document_id(session, item.id) or 0


def documents_of(session: Session, item: Item) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for all documents of an item, which let the database read them in storage order.

    With the index by key, SQLite would read them in random order, which takes ten times as long.
    """
    return Document.item_id + 0 == item.id, Document.id.between(*document_id_range(session, item))


def _item_condition(item: Item, where: DocumentFilter) -> ColumnElement[bool]:
    """Return an indexed condition, or one that prevents use of an index, so that rows are scanned by id."""
    if where.state is not None and where.state not in UNINDEXED_STATES:
        # SQLite uses a partial index only if its condition is repeated literally.
        tried = (Document.item_id == item.id) & (Document.state == where.state) & text(TRIED)
        return tried if where.type is None else tried & (Document.type == where.type)
    known = Document.item_id + 0 == item.id
    if where.type is not None:
        known = (Document.item_id == item.id) & (Document.type == where.type) & Document.type.is_not(None)
    return known if where.state is None else known & (Document.state == where.state)


def _url_contains(session: Session, word: str) -> ColumnElement[bool]:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    # URLs are ASCII: collation C suffices for PostgreSQL, and LIKE is case-insensitive in SQLite.
    if session.get_bind().dialect.name == "postgresql":
        return collate(Document.url, "C").ilike(f"%{escaped}%", escape="\\")
    return Document.url.like(f"%{escaped}%", escape="\\")


class SkippedDocument(NamedTuple):
    """A document that is not in the index because its parser was stopped."""

    document_id: int
    urn: str
    url: str
    reason: Reason

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; the keys are stable."""
        return {"urn": self.urn, "document": self.document_id, "url": self.url, **reason_fields(self.reason)}


def skipped_documents(session: Session, most: int | None = None) -> list[SkippedDocument]:
    """Return the documents whose parsers were stopped, the latest first."""
    rows = session.execute(
        select(SkippedText, Document.url, Item.urn)
        .join(Document, Document.id == SkippedText.document_id)
        .join(Item, Item.id == SkippedText.item_id)
        .where(Item.state != ItemState.REMOVING)
        .order_by(SkippedText.document_id.desc())
        .limit(most)
    )
    return [SkippedDocument(row.document_id, urn, url, row.reason or Reason("")) for row, url, urn in rows]
