"""Content that replay serves: files of the mirror, documents without a copy, and original response bodies."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.mirror.paths import CopyIndex, is_path_of_copy, key_prefix_in
from tarantula.archive.mirror.plan import RENDERED_TYPE
from tarantula.archive.omissions import MISSING_LIST
from tarantula.core.urls import key_of
from tarantula.fetch.media_types import HTML_TYPES, charset_of, media_type
from tarantula.links.charset import encoding_by_label, html_encoding, text_encoding
from tarantula.models import Document, Item
from tarantula.publications import document_types
from tarantula.store.captures import capture_of
from tarantula.store.warc_reader import decode_payload, read_record
from tarantula.store.withholding import check_access

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
