"""Visible text of a document by lines, and its differences between two items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import turbohtml
from sqlalchemy.orm import Session
from turbohtml import TokenType

from tarantula.archive.diff.text import TextDiff, compare_lines
from tarantula.archive.omissions import OmissionCause, cause_of
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.fetch.media_types import HTML_TYPES, charset_of, media_type
from tarantula.links.charset import decode_text, html_encoding
from tarantula.models import Document
from tarantula.store.captures import Capture, capture_of
from tarantula.store.warc_reader import decode_payload, read_record
from tarantula.store.withholding import check_access

MAX_LINES = 20_000
"""Maximum number of lines compared."""
MAX_LINE_LENGTH = 2_000
"""Longer lines are split."""

TEXT_TYPES = frozenset({"application/json", "application/xml", "application/rtf", "image/svg+xml"})

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr".split()
)
"""Elements that do not end a line."""
_INVISIBLE = frozenset({"script", "style", "template", "noscript", "iframe", "noembed", "noframes", "xmp"})
"""Elements whose text is not visible."""
MAX_COMPARED_BYTES = 10_000_000
"""Larger documents are not compared."""


def text_lines(body: bytes, media_type: str | None, charset: str | None) -> list[str] | None:
    """Return the non-empty lines of a document with normalized spaces; None if it is not text."""
    if media_type in HTML_TYPES:
        return _normalize(_html_lines(_html(body, charset)))
    if media_type and (
        media_type.startswith("text/") or media_type in TEXT_TYPES or media_type.endswith(("+xml", "+json"))
    ):
        return _normalize(decode_text(body, charset)[0].splitlines())
    return None


def _html(body: bytes, charset: str | None) -> str:
    """Decode a page with the encoding that browsers would use."""
    _, encoding = html_encoding(body, charset)
    return body.decode(f"whatwg-{encoding}", "replace").removeprefix("\ufeff")


def _html_lines(html: str) -> Iterator[str]:
    line: list[str] = []
    hidden = ""
    for token in turbohtml.tokenize(html, capture_attributes=False):
        if token.type == TokenType.TEXT:
            if not hidden:
                line.append(token.data or "")
        elif token.tag is not None:
            hidden = _hidden_element(hidden, token)
            if token.tag not in _INLINE:
                yield "".join(line)
                line.clear()
    yield "".join(line)


def _hidden_element(hidden: str, token: turbohtml.Token) -> str:
    """Return the invisible element that the position after this tag is in; empty if in none."""
    tag = token.tag or ""
    if hidden:
        return "" if token.type == TokenType.END_TAG and tag == hidden else hidden
    return tag if token.type == TokenType.START_TAG and tag in _INVISIBLE else ""


def _normalize(lines: Iterable[str]) -> list[str]:
    cut: list[str] = []
    for line in lines:
        normalized = " ".join(line.split())
        cut += [normalized[start : start + MAX_LINE_LENGTH] for start in range(0, len(normalized), MAX_LINE_LENGTH)]
        if len(cut) >= MAX_LINES:
            break
    return cut[:MAX_LINES]


def compare_documents(session: Session, items: Path, before: Document, after: Document) -> TextDiff:
    """Compare the text of two documents, whose bodies are below *items*; a note says why if it is not possible."""
    try:
        check_access(session, after)
    except WithheldError as error:
        return TextDiff([], str(error), cause_of(error))
    if before.digest is not None and before.digest == after.digest:
        return TextDiff([], "It is the same in both.")
    if max(before.size or 0, after.size or 0) > MAX_COMPARED_BYTES:
        note = f"It is larger than {MAX_COMPARED_BYTES:,} bytes: too large to be compared as text."
        return TextDiff([], note, OmissionCause.TOO_LARGE)
    try:
        captures = [capture_of(session, items, document) for document in (before, after)]
        stored = [capture for capture in captures if capture is not None]
        if len(stored) < len(captures):
            return TextDiff([], "Its body was not stored.", OmissionCause.MISSING)
        rendered = all(capture.rendered_offset is not None for capture in stored)
        texts = [_lines(capture, document, rendered) for capture, document in zip(stored, (before, after), strict=True)]
    except TarantulaError as error:
        return TextDiff([], str(error), cause_of(error))
    except OSError as error:
        return TextDiff([], f"{error.filename} cannot be read: {error.strerror}.", OmissionCause.DAMAGED)
    if texts[0] is None or texts[1] is None:
        return TextDiff([], f"It is {after.type or 'of an unknown type'}, which is not text.")
    hunks = compare_lines(texts[0], texts[1])
    if max(len(texts[0]), len(texts[1])) >= MAX_LINES:
        return TextDiff(hunks, f"Only its first {MAX_LINES:,} lines were compared.", OmissionCause.TOO_LARGE)
    return TextDiff(hunks, "" if hunks else "Its bytes changed, its text did not.")


def _lines(capture: Capture, document: Document, rendered: bool) -> list[str] | None:
    shown = capture.rendered_offset if rendered else None
    payload = decode_payload(read_record(capture.path, capture.offset if shown is None else shown))
    content_type = payload.get(b"content-type")
    charset = (document.encoding if shown is None else None) or charset_of(content_type)
    return text_lines(payload.body, document.type or media_type(content_type), charset)
