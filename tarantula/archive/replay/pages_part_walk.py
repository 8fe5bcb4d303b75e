"""An item's pages one after the other, as somebody walks through them."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from tarantula.archive.quality.baseline import base_document
from tarantula.archive.replay.pages import HTML_TYPES
from tarantula.core.errors import TarantulaError
from tarantula.core.urls import key_of
from tarantula.store.captures import HAS_CAPTURE
from tarantula.store.listings import IS_COLLECTED
from tarantula.tables.publications import Document, Item

IS_PAGE: ColumnElement[bool] = and_(IS_COLLECTED, Document.type.in_(HTML_TYPES), HAS_CAPTURE)
MAX_DOCUMENT_ID = 2**63
"""No document has it."""


class PagePosition(NamedTuple):
    """Where somebody is among the pages of an item."""

    number: int
    """How many pages there are up to here."""
    total: int
    previous_id: int | None
    next_id: int | None


def find_document(session: Session, item: Item, number: int) -> Document:
    """Return a document of an item, or say that there is none."""
    document = session.get(Document, number) if 0 < number < MAX_DOCUMENT_ID else None
    if document is None or document.item_id != item.id:
        raise TarantulaError(f"Item {item.urn} has no document {number}. `tarantula documents {item.urn}` lists them.")
    return document


def first_page(session: Session, item: Item) -> Document | None:
    """Return where a walk begins: at the base document or what it leads to, or else at the first page."""
    base = base_document(session, item, None)
    found = session.scalar(
        select(Document).where(Document.item_id == item.id, Document.key == key_of(base.url), IS_PAGE)
    )
    if found is not None:
        return found
    return session.scalar(select(Document).where(Document.item_id == item.id, IS_PAGE).order_by(Document.id).limit(1))


def page_position(session: Session, item: Item, document: Document) -> PagePosition:
    """Return where a document is among the pages, in the order in which they became known."""
    pages = select(Document.id).where(Document.item_id == item.id, IS_PAGE)
    up_to_here = func.count(case((Document.id <= document.id, 1)))
    number, total = session.execute(pages.with_only_columns(up_to_here, func.count())).one()
    return PagePosition(
        number,
        total,
        session.scalar(pages.where(Document.id < document.id).order_by(Document.id.desc()).limit(1)),
        session.scalar(pages.where(Document.id > document.id).order_by(Document.id).limit(1)),
    )


def document_in_item(session: Session, document: Document, item: Item) -> Document | None:
    """Return the document of the same URL in another item."""
    return session.scalar(select(Document).where(Document.item_id == item.id, Document.key == document.key))
