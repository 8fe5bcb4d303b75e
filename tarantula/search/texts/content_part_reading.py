"""What documents say, whatever their type."""

from __future__ import annotations

import logging
from collections.abc import Callable
from unicodedata import normalize

from tarantula.links.charset import decode
from tarantula.search.texts.content import Content
from tarantula.search.texts.content_part_language import language_of
from tarantula.search.texts.content_part_page import page_content
from tarantula.search.texts.content_part_pdf import pdf_content
from tarantula.search.texts.similarity import likeness_of

logger = logging.getLogger(__name__)

LONGEST = 1_000_000
"""Letters of a document that are read."""
LARGEST = 50_000_000
"""Bytes of a document that is read at all."""


def plain_content(body: bytes, url: str, charset: str | None) -> Content:
    """Return what a file of plain text says; it has no title but its name."""
    text = decode(body, charset)[0]
    return Content(main=text, language=language_of(text))


READERS: dict[str, Callable[[bytes, str, str | None], Content]] = {
    "text/html": page_content,
    "application/xhtml+xml": page_content,
    "text/plain": plain_content,
    "application/pdf": pdf_content,
}


def content_of(body: bytes, media_type: str | None, url: str, charset: str | None) -> Content | None:
    """Return what a document says; nothing if it is of a type that is not read, or cannot be."""
    reader = READERS.get(media_type or "")
    if reader is None or len(body) > LARGEST:
        return None
    try:
        content = reader(body, url, charset)
    except Exception as error:
        # Whatever a hostile file does to its parser, the next one is read.
        logger.warning("%s cannot be read (%s: %s): only its address is found.", url, type(error).__name__, error)
        return None
    for name in ("title", "headings", "description", "main", "rest"):
        # An accent that stands behind its letter would part a word.
        setattr(content, name, normalize("NFC", getattr(content, name)[:LONGEST]))
    content.likeness = likeness_of(content.main).hex()
    return content
