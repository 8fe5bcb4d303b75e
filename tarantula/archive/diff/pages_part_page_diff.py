"""What changed in the text of a document between two items."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from tarantula.archive.diff.pages import MAX_LINES, text_lines
from tarantula.archive.diff.text import TextDiff, compare_lines
from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.store.captures import Capture, capture_of
from tarantula.store.warc_reader import read_record
from tarantula.store.warc_reader_part_payload import decode_payload
from tarantula.tables.publications import Document

MAX_COMPARED_BYTES = 10_000_000
"""Bytes of a document whose text is compared."""


def compare_documents(session: Session, items: Path, before: Document, after: Document) -> TextDiff:
    """Compare the text of two documents, whose bytes are below *items*; where it cannot be done, a note says why."""
    if before.digest is not None and before.digest == after.digest:
        return TextDiff([], "It is the same in both.")
    if max(before.size or 0, after.size or 0) > MAX_COMPARED_BYTES:
        return TextDiff([], f"It is larger than {MAX_COMPARED_BYTES:,} bytes: too large to be compared as text.")
    try:
        captures = [capture_of(session, items, document) for document in (before, after)]
        rendered = all(capture is not None and capture.rendered_offset is not None for capture in captures)
        texts = [
            _lines(capture, document, rendered) for capture, document in zip(captures, (before, after), strict=True)
        ]
    except TarantulaError as error:
        return TextDiff([], str(error))
    except OSError as error:
        return TextDiff([], f"{error.filename} cannot be read: {error.strerror}.")
    if texts[0] is None or texts[1] is None:
        return TextDiff([], f"It is {after.type or 'of an unknown type'}, which is not text.")
    hunks = compare_lines(texts[0], texts[1])
    return TextDiff(hunks, _note(max(map(len, (texts[0], texts[1]))), bool(hunks)))


def _lines(capture: Capture | None, document: Document, rendered: bool) -> list[str] | None:
    if capture is None:
        raise TarantulaError("Its bytes were not kept.")
    offset = capture.rendered_offset if rendered and capture.rendered_offset is not None else capture.offset
    payload = decode_payload(read_record(capture.path, offset))
    content_type = payload.get(b"content-type")
    return text_lines(payload.body, document.type or media_type(content_type), charset_of(content_type))


def _note(lines: int, differ: bool) -> str:
    if lines >= MAX_LINES:
        return f"Only its first {MAX_LINES:,} lines were compared."
    return "" if differ else "Its bytes changed, its text did not."
