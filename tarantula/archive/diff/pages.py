"""Visible text of a document by lines, and its differences between two items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import turbohtml
from sqlalchemy.orm import Session
from turbohtml import TokenType

from tarantula.archive.diff.text import TextDiff, compare_lines
from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.links.charset import decode_text, encoding_by_label
from tarantula.models import Document
from tarantula.store.captures import Capture, capture_of
from tarantula.store.warc_reader import decode_payload, read_record

MAX_LINES = 20_000
"""Lines of a document that are looked at."""
MAX_LINE_LENGTH = 2_000
"""Letters of a line, after which another one begins."""

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"application/json", "application/xml", "application/rtf", "image/svg+xml"})

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr".split()
)
"""Elements that do not end a line."""
_UNSEEN = frozenset({"script", "style", "template", "noscript", "iframe", "noembed", "noframes", "xmp"})
"""Elements whose text is not the page's."""


def text_lines(body: bytes, media_type: str | None, charset: str | None) -> list[str] | None:
    """Return the lines of a document that hold something, without needless spaces; nothing if it is not text."""
    if media_type in HTML_TYPES:
        return _cut(_html_lines(_html(body, charset)))
    if media_type and (
        media_type.startswith("text/") or media_type in TEXT_TYPES or media_type.endswith(("+xml", "+json"))
    ):
        return _cut(decode_text(body, charset)[0].splitlines())
    return None


def _html(body: bytes, charset: str | None) -> str:
    """Return the characters of a page, in the encoding that browsers would read it in."""
    label = encoding_by_label(charset)
    encoding = turbohtml.parse(body, encoding=label).encoding if label else turbohtml.parse(body).encoding
    return body.decode(f"whatwg-{encoding or 'UTF-8'}", "replace").removeprefix("\ufeff")


def _html_lines(html: str) -> Iterator[str]:
    line: list[str] = []
    unseen = ""
    for token in turbohtml.tokenize(html, capture_attributes=False):
        if token.type == TokenType.TEXT:
            if not unseen:
                line.append(token.data or "")
        elif token.tag is not None:
            unseen = _still_unseen(unseen, token)
            if token.tag not in _INLINE:
                yield "".join(line)
                line.clear()
    yield "".join(line)


def _still_unseen(unseen: str, token: turbohtml.Token) -> str:
    """Return the element in which nothing is seen, if we are in one after this tag."""
    tag = token.tag or ""
    if unseen:
        return "" if token.type == TokenType.END_TAG and tag == unseen else unseen
    return tag if token.type == TokenType.START_TAG and tag in _UNSEEN else ""


def _cut(lines: Iterable[str]) -> list[str]:
    cut: list[str] = []
    for line in lines:
        words = " ".join(line.split())
        cut += [words[start : start + MAX_LINE_LENGTH] for start in range(0, len(words), MAX_LINE_LENGTH)]
        if len(cut) >= MAX_LINES:
            break
    return cut[:MAX_LINES]


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
