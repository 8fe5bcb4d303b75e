"""What changed in the text of a document between two items."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from tarantula.archive.page_text import MOST_LINES, lines_of
from tarantula.archive.text_diff import TextDiff, compare_lines
from tarantula.download.errors import DownloadError
from tarantula.errors import TarantulaError
from tarantula.media import charset_of, media_type
from tarantula.models import Document
from tarantula.store.bodies import body_of, content_type_of
from tarantula.store.captures import Capture, capture_of
from tarantula.store.read import read_record

LARGEST = 10_000_000
"""Bytes of a document whose text is compared."""


def compare_documents(session: Session, items: Path, before: Document, after: Document) -> TextDiff:
    """Compare the text of two documents, whose bytes are below *items*; where it cannot be done, a note says why."""
    if before.digest is not None and before.digest == after.digest:
        return TextDiff([], "It is the same in both.")
    if max(before.size or 0, after.size or 0) > LARGEST:
        return TextDiff([], f"It is larger than {LARGEST:,} bytes: too large to be compared as text.")
    captures = [capture_of(session, items, document) for document in (before, after)]
    rendered = all(capture is not None and capture.rendered_offset is not None for capture in captures)
    texts = []
    for capture, document in zip(captures, (before, after), strict=True):
        if capture is None:
            return TextDiff([], "Its bytes were not kept.")
        try:
            lines = _lines(capture, document, rendered)
        except (TarantulaError, DownloadError) as error:
            return TextDiff([], str(error))
        except OSError as error:
            return TextDiff([], f"{capture.path} cannot be read: {error.strerror}.")
        if lines is None:
            return TextDiff([], f"It is {document.type or 'of an unknown type'}, which is not text.")
        texts.append(lines)
    hunks = compare_lines(*texts)
    return TextDiff(hunks, _note(texts, bool(hunks)))


def _lines(capture: Capture, document: Document, rendered: bool) -> list[str] | None:
    if rendered and capture.rendered_offset is not None:
        page = read_record(capture.path, capture.rendered_offset)
        return lines_of(body_of(page), "text/html", "utf-8")
    record = read_record(capture.path, capture.offset)
    content_type = content_type_of(record)
    return lines_of(body_of(record, LARGEST), document.type or media_type(content_type), charset_of(content_type))


def _note(texts: list[list[str]], differ: bool) -> str:
    if max(map(len, texts)) >= MOST_LINES:
        return f"Only its first {MOST_LINES:,} lines were compared."
    return "" if differ else "Its bytes changed, its text did not."
