"""What documents say, whatever their type."""

from __future__ import annotations

import logging
from collections.abc import Callable
from unicodedata import normalize

from tarantula.links.charset import decode_text
from tarantula.search.texts.content import ExtractedText
from tarantula.search.texts.content_part_language import language_of
from tarantula.search.texts.content_part_page import extract_html
from tarantula.search.texts.content_part_pdf import extract_pdf
from tarantula.search.texts.similarity import signature_of

logger = logging.getLogger(__name__)

LONGEST_TEXT = 1_000_000
"""Letters of a document that are read."""
LARGEST_BODY_BYTES = 50_000_000
"""Bytes of a document that is read at all."""


def extract_plain(body: bytes, url: str, charset: str | None) -> ExtractedText:
    """Return what a file of plain text says; it has no title but its name."""
    text = decode_text(body, charset)[0]
    return ExtractedText(main=text, language=language_of(text))


EXTRACTORS: dict[str, Callable[[bytes, str, str | None], ExtractedText]] = {
    "text/html": extract_html,
    "application/xhtml+xml": extract_html,
    "text/plain": extract_plain,
    "application/pdf": extract_pdf,
}


def extract_text(body: bytes, media_type: str | None, url: str, charset: str | None) -> ExtractedText | None:
    """Return what a document says; nothing if it is of a type that is not read, or cannot be."""
    reader = EXTRACTORS.get(media_type or "")
    if reader is None or len(body) > LARGEST_BODY_BYTES:
        return None
    try:
        content = reader(body, url, charset)
    except Exception as error:
        # Whatever a hostile file does to its parser, the next one is read.
        logger.warning("%s cannot be read (%s: %s): only its address is found.", url, type(error).__name__, error)
        return None
    for name in ("title", "headings", "description", "main", "rest"):
        # An accent that stands behind its letter would part a word.
        setattr(content, name, normalize("NFC", getattr(content, name)[:LONGEST_TEXT]))
    content.likeness = signature_of(content.main).hex()
    return content
