"""What a PDF says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pypdfium2

from tarantula.search.texts.content import ExtractedText
from tarantula.search.texts.content_part_language import language_of

MOST_PDF_PAGES = 1_000
"""Pages of a file that are read."""


def extract_pdf(body: bytes, url: str, charset: str | None) -> ExtractedText:
    """Return the text of a PDF, page after page."""
    with closing(pypdfium2.PdfDocument(body)) as document:
        title = " ".join(str(document.get_metadata_value("Title")).split())
        text = "\n".join(_pages(document))
    return ExtractedText(title=title, main=text, language=language_of(text))


def _pages(document: pypdfium2.PdfDocument) -> Iterator[str]:
    for number in range(min(len(document), MOST_PDF_PAGES)):
        with closing(document[number]) as page, closing(page.get_textpage()) as text:
            yield str(text.get_text_bounded()).replace("\r\n", "\n")
