"""Documents of an item that somebody looks for, some at a time, however many there are.

A search goes along the documents in the order in which they became known, a stretch at a time, and stops when it has
enough or has taken long enough: then it says where it goes on. States that documents get when their turn came, and
types, have indexes; whatever else is looked for is compared row by row, so that rows cost no more to store.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, collate, func, select, text
from sqlalchemy.orm import Session

from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState
from tarantula.core.urls import key_of
from tarantula.models import TRIED, Document, Item, LinkRow, Server
from tarantula.publications.config import PublicationConfig

IDS_PER_STEP = 8_000
"""Ids among which is looked before the clock is looked at; more if that was quick."""
QUERY_TIME_LIMIT_SECONDS = 0.15
"""Seconds after which a search stops to say how far it is."""
UNINDEXED_STATES = (
    DocumentState.COLLECTING,
    DocumentState.SERVER_NOT_ACCEPTED,
    DocumentState.WAITING,
    DocumentState.OVER_LIMIT,
)
"""States that documents may have before their turn comes: no index has them."""


class DocumentFilter(NamedTuple):
    """What is looked for; what is not told may be anything."""

    state: int | None = None
    type: str | None = None
    server: str | None = None
    depth: int | None = None
    words: str = ""
    """All of them are in its URL, in any case."""


class DocumentMatches(NamedTuple):
    """The ids of some documents."""

    ids: list[int]
    next: int | None
    """After which id the search goes on; nothing if it is at its end."""
    searched: float
    """How far it is, from 0 to 1."""


def find_documents(session: Session, item: Item, wanted: DocumentFilter, limit: int, after: int = 0) -> DocumentMatches:
    """Return the next documents of an item that are wanted, in the order in which they became known."""
    conditions = [_of(item, wanted), *(_has(session, word) for word in wanted.words.split())]
    if wanted.server is not None:
        server_id = session.scalar(select(Server.id).where(Server.name == wanted.server))
        if server_id is None:
            return DocumentMatches([], None, 1.0)
        conditions.append(Document.server_id == server_id)
    if wanted.depth is not None:
        conditions.append(Document.depth == wanted.depth)
    return _walk(session, item, lambda ids: ids.where(*conditions), limit, after)


def find_linking_documents(session: Session, item: Item, target: bytes, limit: int, after: int = 0) -> DocumentMatches:
    """Return the next documents of an item that have a link to a URL, by its key."""
    # Links are looked up by those who have them: an index by target would cost more than all others together.
    named = (LinkRow.document_id == Document.id) & (LinkRow.target == target)
    having = (_of(item, DocumentFilter()), Document.links > 0)
    return _walk(session, item, lambda ids: ids.join(LinkRow, named).where(*having), limit, after)


def last_document_id(session: Session, item_id: int) -> int | None:
    """Return the id of the last document of an item."""
    return session.scalar(select(func.max(Document.id)).where(Document.item_id == item_id))


def _walk(
    session: Session, item: Item, narrowed: Callable[[Select[tuple[int]]], Select[tuple[int]]], limit: int, after: int
) -> DocumentMatches:
    first, last = document_id_range(session, item)
    began, stretch = monotonic(), IDS_PER_STEP
    found: list[int] = []
    after = max(after, first - 1)
    while after < last:
        looked, end = monotonic(), min(after + stretch, last)
        ids = narrowed(select(Document.id)).where(Document.id > after, Document.id <= end)
        found += session.scalars(ids.order_by(Document.id).limit(limit + 1 - len(found)))
        after = found[limit - 1] if len(found) > limit else end
        if len(found) > limit or (monotonic() - began > QUERY_TIME_LIMIT_SECONDS and after < last):
            return DocumentMatches(found[:limit], after, round((after - first + 1) / (last - first + 1), 4))
        if monotonic() - looked < QUERY_TIME_LIMIT_SECONDS / 8:
            stretch *= 2
    return DocumentMatches(found, None, 1.0)


def document_id_range(session: Session, item: Item) -> tuple[int, int]:
    """Return the ids between which an item's documents are: the base document is the first of them."""
    base = PublicationConfig.model_validate(item.configuration).base_url
    of_item = Document.item_id == item.id
    first = session.scalar(select(Document.id).where(of_item, Document.key == key_of(base)))
    if first is None:
        first = session.scalar(select(func.min(Document.id)).where(of_item)) or 1
    if ItemState(item.state) in ACTIVE_ITEM_STATES:
        return first, session.scalar(select(func.max(Document.id))) or 0
    return first, item.last_document_id or last_document_id(session, item.id) or 0


def _of(item: Item, wanted: DocumentFilter) -> ColumnElement[bool]:
    """Return what an index has, or else a condition that no index must be used for: the ids lead to the rows."""
    if wanted.state is not None and wanted.state not in UNINDEXED_STATES:
        # SQLite wants the condition of the index in the same words.
        tried = (Document.item_id == item.id) & (Document.state == wanted.state) & text(TRIED)
        return tried if wanted.type is None else tried & (Document.type == wanted.type)
    known = Document.item_id + 0 == item.id
    if wanted.type is not None:
        known = (Document.item_id == item.id) & (Document.type == wanted.type) & Document.type.is_not(None)
    return known if wanted.state is None else known & (Document.state == wanted.state)


def _has(session: Session, word: str) -> ColumnElement[bool]:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    # URLs are in ASCII. PostgreSQL need not know of other letters, and to SQLite large and small ones are alike anyway.
    if session.get_bind().dialect.name == "postgresql":
        return collate(Document.url, "C").ilike(f"%{escaped}%", escape="\\")
    return Document.url.like(f"%{escaped}%", escape="\\")
