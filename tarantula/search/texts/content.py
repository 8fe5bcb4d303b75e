"""Text extraction from HTML pages, PDF and plain text, with language detection."""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, fields
from unicodedata import normalize

import pypdfium2
from py3langid import rank
from turbohtml import Document, Element

from tarantula.core.urls import key_of
from tarantula.links.charset import decode_text, encoding_by_label
from tarantula.links.markup import base_of, parse_html
from tarantula.links.resolve import resolve_references
from tarantula.search.texts.similarity import signature_of
from tarantula.search.texts.words import STEMMERS


@dataclass(slots=True)
class ExtractedText:
    """The words of a document, by what they are there for."""

    title: str = ""
    headings: str = ""
    description: str = ""
    main: str = ""
    """What the page is about."""
    rest: str = ""
    """What else is on it: menus, side notes."""
    language: str = ""
    """As ``pt``; nothing if it cannot be told."""
    anchors: list[tuple[str, str]] = field(default_factory=list)
    """The documents that it leads to: the key of each in hexadecimal, and what it calls it."""
    likeness: str = ""
    """By which nearly equal documents are told, as `tarantula.search.texts.similarity` has it, in hexadecimal."""

    def packed(self) -> bytes:
        """Return it as bytes."""
        values = [getattr(self, name) for name in PACKED_FIELDS]
        return zlib.compress(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


PACKED_FIELDS = [each.name for each in fields(ExtractedText)]


def unpack_text(packed: bytes) -> ExtractedText:
    """Return what `Content.packed` made bytes of."""
    content = ExtractedText(*json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass")))
    content.anchors = [(key, words) for key, words in content.anchors]
    return content


SAMPLE_LENGTH = 300
"""Letters that are looked at: enough to tell, and quick."""
SHORTEST_SAMPLE = 40
"""Letters of a text that tells its language by itself; of a shorter one its markup is believed."""
CANDIDATE_LANGUAGES = 10
"""Languages among which is chosen: the nearest to the text."""
DECLARED_LOG_ODDS = 8.0
"""What speaks for a language that the page declares, and for one whose stems are known, in logarithms of chances: a
few words tell Portuguese from English, and not from Galician."""


def language_of(text: str, declared: str | None = None) -> str:
    """Return the language of a text as ``pt``; what it declares of itself decides only where the text does not."""
    code = _code(declared)
    if len(text) < SHORTEST_SAMPLE:
        return code
    # The middle says more than the beginning, where names and dates are.
    start = max(0, (len(text) - SAMPLE_LENGTH) // 2)
    nearest = rank(text[start : start + SAMPLE_LENGTH])[:CANDIDATE_LANGUAGES]
    return str(max(nearest, key=lambda one: one[1] + DECLARED_LOG_ODDS * ((one[0] == code) + (one[0] in STEMMERS)))[0])


def _code(declared: str | None) -> str:
    code = (declared or "").replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else ""


LONGEST_ANCHOR = 200
"""Letters of what a page calls another; more is no name."""
MOST_ANCHORS = 2_000
"""Links of a page whose words count."""
HEADING_TAGS = re.compile("h[123]")
BOILERPLATE_SELECTOR = "nav, aside, footer, [role=navigation], [role=complementary], [role=contentinfo], [role=search]"
"""What a page itself says is not what it is about; a guess would sometimes take it for that."""


def extract_html(body: bytes, url: str, charset: str | None) -> ExtractedText:
    """Return what a page says, and what it calls the pages that it leads to."""
    # Menus are often written without a space between their links.
    document = parse_html(body.replace(b"</a><a", b"</a> <a"), encoding_by_label(charset), positions=False)
    for unseen in document.find_all("noscript"):
        unseen.decompose()
    title, headings = _text_of(document.find("title")), [_text_of(one) for one in document.find_all(HEADING_TAGS)]
    anchors = list(_anchors(document, url))
    lines = _lines(_body_text(document))
    for beside in document.select(BOILERPLATE_SELECTOR):
        beside.decompose()
    article = document.article()
    main = _lines(article.text) or _lines(_body_text(document)) or lines
    inside = set(main)
    text = "\n".join(main)
    return ExtractedText(
        title=_words(title) or article.title or "",
        headings="\n".join(map(_words, headings)),
        description=article.description or "",
        main=text,
        rest="\n".join(line for line in lines if line not in inside),
        language=language_of(text, article.lang),
        anchors=anchors,
    )


def _anchors(document: Document, url: str) -> Iterator[tuple[str, str]]:
    references = _references(document)
    for target, words in resolve_references(references, url, base_of(document, url)[0], document.encoding):
        yield key_of(target).hex(), words


def _references(document: Document) -> Iterator[tuple[str, str]]:
    for element in document.find_all("a", limit=MOST_ANCHORS):
        href = element.attrs.get("href")
        if isinstance(href, str):
            yield href, _words(element.text or _text_of_image(element))[:LONGEST_ANCHOR]


def _text_of_image(element: Element) -> str:
    return " ".join(str(image.attrs.get("alt") or "") for image in element.find_all("img"))


def _text_of(element: Element | None) -> str:
    return element.text if element is not None else ""


def _body_text(document: Document) -> str:
    body = document.find("body")
    return body.to_text() if body is not None else ""


def _lines(text: str) -> list[str]:
    # The stars of lists are of whoever made a text of the page.
    return [line for line in (_words(line).removeprefix("* ") for line in text.splitlines()) if line]


def _words(text: str) -> str:
    return " ".join(text.split())


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
