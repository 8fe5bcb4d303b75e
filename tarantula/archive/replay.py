"""Pages and bodies of an item as a browser shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import turbohtml
from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from tarantula.archive.mirror.paths import CopyIndex, is_path_of_copy, key_prefix_in
from tarantula.archive.mirror.plan import RENDERED_TYPE
from tarantula.archive.omissions import MISSING_LIST
from tarantula.archive.quality.baseline import base_document
from tarantula.core.errors import NotFoundError, TarantulaError, WithheldError
from tarantula.core.urls import key_of
from tarantula.fetch.media_types import HTML_TYPES, charset_of, media_type
from tarantula.links.charset import encoding_by_label, html_encoding, text_encoding
from tarantula.models import Document, Item
from tarantula.publications import document_types
from tarantula.store.captures import HAS_CAPTURE, Capture, capture_of
from tarantula.store.listings import IS_COLLECTED
from tarantula.store.warc_reader import decode_payload, read_record, read_response
from tarantula.store.withholding import check_access

TITLE_SEARCH_BYTES = 256 * 1024
"""Length of the prefix of a page in which the title is searched."""
MAX_TITLE_LENGTH = 500


MIRROR_FILES = {
    "index.html": "text/html; charset=utf-8",
    "report.json": "application/json",
    MISSING_LIST: "text/csv; charset=utf-8",
}
"""Files of a mirror other than copies."""
UNKNOWN_CONTENT_TYPE = "application/octet-stream"


class MirrorFile(NamedTuple):
    """A file of a mirror."""

    path: Path
    content_type: str


class ReplayContent(NamedTuple):
    """Content of a document that is not served from the mirror."""

    body: bytes
    content_type: str


def mirror_file(session: Session, mirror: Path, item: Item, path: str) -> MirrorFile | None:
    """Return the file at a path below a mirror; None if there is none, or it does not belong to the mirror."""
    if path in MIRROR_FILES:
        return _inside(mirror, path, MIRROR_FILES[path])
    if not is_path_of_copy(path):
        return None
    document = document_of_path(session, item, path)
    if document is None:
        return None
    check_access(session, document)
    return _inside(mirror, path, content_type_of(document))


def document_of_path(session: Session, item: Item, path: str) -> Document | None:
    """Return the document whose copy has this path."""
    prefix = key_prefix_in(path)
    if prefix is None:
        return None
    # Highest key with this prefix: the hash has six bytes less than a key.
    last = prefix + b"\xff" * (len(key_of("")) - len(prefix))
    chosen = select(Document).where(Document.item_id == item.id, Document.key.between(prefix, last))
    return session.scalars(chosen.limit(1)).first()


def path_of_document(session: Session, mirror: Path, document: Document) -> str | None:
    """Return the path of a document's copy below the mirror, if it exists."""
    media_type = document.type if document.rendered_offset is None else RENDERED_TYPE
    path = CopyIndex(document_types.extensions_by_type(session)).path(document.url, media_type)
    return path if _inside(mirror, path, "") else None


def content_type_of(document: Document) -> str:
    """Return the Content-Type of a document's copy."""
    return f"{RENDERED_TYPE}; charset=utf-8" if document.rendered_offset is not None else _type_as_sent(document)


def displayed_content(session: Session, items: Path, document: Document) -> ReplayContent | None:
    """Return a document as rendered, or else as sent; None if no body is stored."""
    capture = capture_of(session, items, document)
    if capture is None:
        return None
    if capture.rendered_offset is None:
        return original_content(session, items, document)
    return ReplayContent(
        decode_payload(read_record(capture.path, capture.rendered_offset)).body, content_type_of(document)
    )


def original_content(session: Session, items: Path, document: Document) -> ReplayContent | None:
    """Return the decoded response body; None if no body is stored."""
    capture = capture_of(session, items, document)
    if capture is None:
        return None
    return ReplayContent(decode_payload(read_record(capture.path, capture.offset)).body, _type_as_sent(document))


def as_text(found: ReplayContent) -> ReplayContent:
    """Return content as plain text, in the charset that browsers would use."""
    label = charset_of(found.content_type)
    decide = html_encoding if media_type(found.content_type) in HTML_TYPES else text_encoding
    _, encoding = decide(found.body, label)
    return ReplayContent(found.body, f"text/plain; charset={encoding}")


def _type_as_sent(document: Document) -> str:
    # Without a declaration browsers guess the encoding of a page, not always as its links were read.
    stored = document.encoding if document.type == RENDERED_TYPE else None
    charset = stored or encoding_by_label(document.charset)
    return (
        f"{document.type or UNKNOWN_CONTENT_TYPE}; charset={charset}"
        if charset
        else document.type or UNKNOWN_CONTENT_TYPE
    )


def _inside(mirror: Path, path: str, content_type: str) -> MirrorFile | None:
    """Return a file if it exists and is below the mirror after resolving symbolic links."""
    found = (mirror / path).resolve()
    return MirrorFile(found, content_type) if found.is_relative_to(mirror.resolve()) and found.is_file() else None


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
