"""Pages of an item that can be replayed: their titles, the first page, and the previous and next of a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import turbohtml
from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from tarantula.archive.quality.baseline import base_document
from tarantula.core.errors import NotFoundError, TarantulaError, WithheldError
from tarantula.core.urls import key_of
from tarantula.fetch.media_types import HTML_TYPES, charset_of
from tarantula.links.charset import html_encoding
from tarantula.models import Document, Item
from tarantula.store.captures import HAS_CAPTURE, Capture, capture_of
from tarantula.store.listings import IS_COLLECTED
from tarantula.store.warc_reader import read_record, read_response

TITLE_SEARCH_BYTES = 256 * 1024
"""Length of the prefix of a page in which the title is searched."""
MAX_TITLE_LENGTH = 500
IS_PAGE: ColumnElement[bool] = and_(IS_COLLECTED, Document.type.in_(HTML_TYPES), HAS_CAPTURE)
MAX_DOCUMENT_ID = 2**63
"""Above any document id."""


class ReplayPage(NamedTuple):
    """A page that can be replayed."""

    document: Document
    title: str


class UnreadablePage(NamedTuple):
    """A page whose body cannot be read."""

    document: Document
    error: TarantulaError


def replay_pages(session: Session, items: Path, item: Item) -> Iterator[ReplayPage | UnreadablePage]:
    """Yield an item's pages in order of discovery, without withheld ones."""
    # Keeps the items in the session, so that they are not queried for every page.
    known = session.scalars(select(Item).where(Item.publication_id == item.publication_id)).all()
    assert item in known
    documents = (
        select(Document)
        .where(Document.item_id == item.id, Document.state == 200, Document.type.in_(HTML_TYPES), HAS_CAPTURE)
        .order_by(Document.id)
        .execution_options(yield_per=500)
    )
    for document in session.scalars(documents):
        try:
            capture = capture_of(session, items, document)
            if capture is not None:
                yield ReplayPage(document, captured_title(capture, document.encoding))
        except WithheldError:
            continue
        except TarantulaError as error:
            yield UnreadablePage(document, error)


def captured_title(capture: Capture, encoding: str | None) -> str:
    """Return the title of a page, as rendered or else as sent; *encoding* is the stored one, if there is one."""
    if capture.rendered_offset is not None:
        return html_title(read_record(capture.path, capture.rendered_offset).raw_body, "utf-8")
    response = read_response(capture.path, capture.offset)
    header = next((value for name, value in response.headers if name.lower() == b"content-type"), b"")
    return html_title(response.body, encoding or charset_of(header.decode("latin-1")))


def html_title(body: bytes, label: str | None) -> str:
    """Return a page's title on one line; empty if it has none."""
    _, encoding = html_encoding(body, label)
    document = turbohtml.parse(body[:TITLE_SEARCH_BYTES], encoding=encoding)
    title = document.select_one("head > title")
    return " ".join(title.text.split())[:MAX_TITLE_LENGTH] if title is not None else ""


class PagePosition(NamedTuple):
    """Position of a page among the pages of an item."""

    number: int
    """From 1."""
    total: int
    previous_id: int | None
    next_id: int | None


def find_document(session: Session, item: Item, number: int) -> Document:
    """Return a document of an item; raise NotFoundError if there is none."""
    document = session.get(Document, number) if 0 < number < MAX_DOCUMENT_ID else None
    if document is None or document.item_id != item.id:
        raise NotFoundError(
            "Item {urn} has no document {number}. `tarantula documents {urn}` lists them.", urn=item.urn, number=number
        )
    return document


def first_page(session: Session, item: Item) -> Document | None:
    """Return the page where browsing starts: the base document or its redirect target, else the first page."""
    base = base_document(session, item, None)
    found = session.scalar(
        select(Document).where(Document.item_id == item.id, Document.key == key_of(base.url), IS_PAGE)
    )
    if found is not None:
        return found
    return session.scalar(select(Document).where(Document.item_id == item.id, IS_PAGE).order_by(Document.id).limit(1))


def page_position(session: Session, item: Item, document: Document) -> PagePosition:
    """Return the position of a document among the pages, in order of discovery."""
    pages = select(Document.id).where(Document.item_id == item.id, IS_PAGE)
    position = func.count(case((Document.id <= document.id, 1)))
    number, total = session.execute(pages.with_only_columns(position, func.count())).one()
    return PagePosition(
        number,
        total,
        session.scalar(pages.where(Document.id < document.id).order_by(Document.id.desc()).limit(1)),
        session.scalar(pages.where(Document.id > document.id).order_by(Document.id).limit(1)),
    )


def document_in_item(session: Session, document: Document, item: Item) -> Document | None:
    """Return the document with the same URL in another item."""
    return session.scalar(select(Document).where(Document.item_id == item.id, Document.key == document.key))
