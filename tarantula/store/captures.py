"""Locations of stored bodies: the WARC file and offset of a document, also when an earlier item holds the body."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session, aliased

from tarantula.core.errors import TarantulaError
from tarantula.models import Document, InheritedRecord, Item
from tarantula.store.homes import check_home
from tarantula.store.withholding import check_access

HAS_CAPTURE: ColumnElement[bool] = or_(Document.warc.is_not(None), Document.refers_to_id.is_not(None))
"""Condition for documents with a stored body: in their own record, or in one of an earlier item."""


class Capture(NamedTuple):
    """Location of the WARC records of one document."""

    path: Path
    offset: int
    """Offset of the response record."""
    rendered_offset: int | None
    """Offset of the record of the rendered page, if there is one."""


class MissingCapture(TarantulaError):
    """A document refers to a body in an earlier item that no longer exists."""

    def __init__(self, document: Document) -> None:
        super().__init__(
            "The body of {url} was stored in an earlier item that was removed "
            "without handing it over. Collect the publication again.",
            url=document.url,
        )


def capture_of(session: Session, items: Path, document: Document) -> Capture | None:
    """Return the location of a document's body below the folder *items*; None if no body was stored.

    A revisit, or a document carried over from an earlier item, leads to the record that holds the body, in any item.
    Raise `WithheldError` if the URL is withheld.
    """
    if has_capture(document):
        check_access(session, document)
    return unchecked_capture_of(session, items, document)


def unchecked_capture_of(session: Session, items: Path, document: Document) -> Capture | None:
    """Return the same also for a withheld document: the caller must not show the body."""
    if not has_capture(document):
        return None
    kept = body_row(session, document)
    assert kept.warc is not None
    assert kept.warc_offset is not None
    rendered = kept.rendered_offset if kept is document or document.warc is None else None
    return Capture(warc_folder(session, items, kept.item_id) / kept.warc, kept.warc_offset, rendered)


def has_capture(document: Document) -> bool:
    """Whether a body of the document is stored."""
    return document.warc is not None or document.refers_to_id is not None


def record_of(session: Session, items: Path, document: Document) -> tuple[Path, int] | None:
    """Return file and offset of a document's own record, or of the one that it was carried over from."""
    if document.warc is not None and document.warc_offset is not None:
        check_access(session, document)
        return warc_folder(session, items, document.item_id) / document.warc, document.warc_offset
    capture = capture_of(session, items, document)
    return None if capture is None else (capture.path, capture.offset)


def warc_folder(session: Session, items: Path, item_id: int) -> Path:
    """Return the folder of an item's WARC files; raise an error if they are in another home."""
    item = session.get_one(Item, item_id)
    check_home(session, items, item)
    return items / item.urn / "archive"


def body_row(session: Session, document: Document) -> Document | InheritedRecord:
    """Return the row whose record holds the body of a document: its own, an earlier document's, or an inherited one."""
    kept = document
    passed: set[int] = set()
    while kept.refers_to_id is not None:
        if kept.refers_to_id in passed:
            raise MissingCapture(document)
        passed.add(kept.refers_to_id)
        earlier = session.get(Document, kept.refers_to_id)
        if earlier is None or earlier.digest != document.digest or earlier.warc is None:
            return _inherited(session, kept.refers_to_id, document)
        kept = earlier
    return kept


def _inherited(session: Session, identity: int, document: Document) -> InheritedRecord:
    record = session.get(InheritedRecord, identity)
    if record is None:
        raise MissingCapture(document)
    return record


def documents_without_body(session: Session, item: Item) -> Iterator[Document]:
    """Yield the documents of an item that refer to a body that no longer exists."""
    root = aliased(Document)
    return iter(
        session.scalars(
            select(Document)
            .outerjoin(root, root.id == Document.refers_to_id)
            .outerjoin(InheritedRecord, InheritedRecord.id == Document.refers_to_id)
            .where(Document.item_id == item.id, Document.refers_to_id.is_not(None))
            .where(root.warc.is_(None), InheritedRecord.id.is_(None))
            .execution_options(yield_per=1000)
        )
    )
