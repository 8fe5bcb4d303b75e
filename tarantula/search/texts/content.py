"""Text extraction from HTML pages, PDF and plain text, with language detection."""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from py3langid import rank
from turbohtml import Document, Element

from tarantula.core.limited_worker import ParserFailedError, ParserLimitError, run_limited
from tarantula.core.urls import key_of
from tarantula.links.charset import decode_text, encoding_by_label
from tarantula.links.markup import base_of, parse_html
from tarantula.links.values import resolve_references
from tarantula.search.texts.similarity import signature_of
from tarantula.search.texts.words import STEMMERS

if TYPE_CHECKING:
    import pypdfium2

logger = logging.getLogger(__name__)

SAMPLE_LENGTH = 300
"""Characters used for language detection."""
SHORTEST_SAMPLE = 40
"""Shortest text with a detected language, in characters; for shorter ones the declared language is used."""
CANDIDATE_LANGUAGES = 10
"""Number of most likely languages to choose from."""
DECLARED_LOG_ODDS = 8.0
"""Bonus in log odds for the declared language, and for a language with a stemmer: a few words distinguish Portuguese
from English, but not from Galician."""
LONGEST_ANCHOR = 200
"""Most characters of an anchor text."""
MOST_ANCHORS = 2_000
"""Most links of a page with anchor texts."""
HEADING_TAGS = re.compile("h[123]")
BOILERPLATE_SELECTOR = "nav, aside, footer, [role=navigation], [role=complementary], [role=contentinfo], [role=search]"
"""Elements that a page marks as boilerplate, which the article detection may miss."""
MOST_PDF_PAGES = 1_000
"""Most pages of a PDF that are read."""

LONGEST_TEXT = 1_000_000
"""Most characters of a text field."""
LARGEST_BODY_BYTES = 50_000_000
"""Largest document that is read."""
IN_PROCESS_BYTES = 64 * 1024
"""Largest HTML page that is read without a worker process."""
MOST_ROOT_TAGS = 20
"""Tags ``html`` and ``body`` from which on a page is read in a worker: the parser adds the attributes of each to the
first one, in quadratic time and memory."""
_ROOT_TAGS = re.compile(rb"<(?:html|body)", re.IGNORECASE)


@dataclass(slots=True)
class ExtractedText:
    """Text of a document, by kind."""

    title: str = ""
    headings: str = ""
    description: str = ""
    main: str = ""
    """Main text of the page."""
    rest: str = ""
    """Other text: menus, side notes."""
    language: str = ""
    """Language code such as ``pt``; empty if unknown."""
    anchors: list[tuple[str, str]] = field(default_factory=list)
    """Links: the key of each target in hexadecimal, and the anchor text."""
    signature: str = ""
    """Similarity signature (see `tarantula.search.texts.similarity`) in hexadecimal."""

    def packed(self) -> bytes:
        """Serialise to compressed bytes."""
        values = [getattr(self, name) for name in PACKED_FIELDS]
        return zlib.compress(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


PACKED_FIELDS = [each.name for each in fields(ExtractedText)]


def unpack_text(packed: bytes) -> ExtractedText:
    """Restore what `ExtractedText.packed` serialised."""
    return _of_fields(json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass")))


def _of_fields(values: list[Any]) -> ExtractedText:
    content = ExtractedText(*values)
    content.anchors = [(key, words) for key, words in content.anchors]
    return content


def language_of(text: str, declared: str | None = None) -> str:
    """Return the language code of a text; the declared language decides only if the text is not conclusive."""
    code = _code(declared)
    if len(text) < SHORTEST_SAMPLE:
        return code
    # The middle is more typical than the beginning, which has names and dates.
    start = max(0, (len(text) - SAMPLE_LENGTH) // 2)
    nearest = rank(text[start : start + SAMPLE_LENGTH])[:CANDIDATE_LANGUAGES]
    return str(max(nearest, key=lambda one: one[1] + DECLARED_LOG_ODDS * ((one[0] == code) + (one[0] in STEMMERS)))[0])


def _code(declared: str | None) -> str:
    code = (declared or "").replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else ""


def extract_html(body: bytes, url: str, charset: str | None) -> ExtractedText:
    """Extract the text and links of an HTML page."""
    # Menus often lack spaces between their links.
    document = parse_html(body.replace(b"</a><a", b"</a> <a"), encoding_by_label(charset), positions=False)
    for hidden in document.find_all("noscript"):
        hidden.decompose()
    title, headings = _text_of(document.find("title")), list(_headings(document))
    anchors = list(_anchors(document, url))
    lines = _lines(_body_text(document))
    for boilerplate in document.select(BOILERPLATE_SELECTOR):
        boilerplate.decompose()
    article = document.article()
    main = _lines(article.text) or _lines(_body_text(document)) or lines
    inside = set(main)
    text = "\n".join(main)
    return ExtractedText(
        title=_collapse_spaces(title) or article.title or "",
        headings="\n".join(map(_collapse_spaces, headings)),
        description=article.description or "",
        main=text,
        rest="\n".join(line for line in lines if line not in inside),
        language=language_of(text, article.lang),
        anchors=anchors,
    )


def _headings(document: Document) -> Iterator[str]:
    length = 0
    for heading in document.find_all(HEADING_TAGS):
        yield (text := heading.text)
        # Headings within headings repeat their text: without a limit the sum would grow with the square of the page.
        length += len(text)
        if length > LONGEST_TEXT:
            return


def _anchors(document: Document, url: str) -> Iterator[tuple[str, str]]:
    references = _references(document)
    for target, words in resolve_references(references, url, base_of(document, url)[0], document.encoding):
        yield key_of(target).hex(), words


def _references(document: Document) -> Iterator[tuple[str, str]]:
    for element in document.find_all("a", limit=MOST_ANCHORS):
        href = element.attrs.get("href")
        if isinstance(href, str):
            yield href, _collapse_spaces(element.text or _text_of_image(element))[:LONGEST_ANCHOR]


def _text_of_image(element: Element) -> str:
    return " ".join(str(image.attrs.get("alt") or "") for image in element.find_all("img"))


def _text_of(element: Element | None) -> str:
    return element.text if element is not None else ""


def _body_text(document: Document) -> str:
    body = document.find("body")
    return body.to_text() if body is not None else ""


def _lines(text: str) -> list[str]:
    # The stars of list items are added by the text conversion.
    return [line for line in (_collapse_spaces(line).removeprefix("* ") for line in text.splitlines()) if line]


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def extract_pdf(body: bytes, url: str, charset: str | None) -> ExtractedText:
    """Extract the text of a PDF."""
    import pypdfium2

    with closing(pypdfium2.PdfDocument(body)) as document:
        title = " ".join(str(document.get_metadata_value("Title")).split())
        text = "\n".join(_pages(document))
    return ExtractedText(title=title, main=text, language=language_of(text))


def _pages(document: pypdfium2.PdfDocument) -> Iterator[str]:
    length = 0
    for number in range(min(len(document), MOST_PDF_PAGES)):
        with closing(document[number]) as page, closing(page.get_textpage()) as text:
            yield (found := str(text.get_text_bounded()).replace("\r\n", "\n"))
        length += len(found)
        if length > LONGEST_TEXT:
            return


def extract_plain(body: bytes, url: str, charset: str | None) -> ExtractedText:
    """Extract plain text, which has no title."""
    text = decode_text(body, charset)[0]
    return ExtractedText(main=text, language=language_of(text))


EXTRACTORS: dict[str, Callable[[bytes, str, str | None], ExtractedText]] = {
    "text/html": extract_html,
    "application/xhtml+xml": extract_html,
    "text/plain": extract_plain,
    "application/pdf": extract_pdf,
}


def extract_text(body: bytes, media_type: str | None, url: str, charset: str | None) -> ExtractedText | None:
    """Extract the text of a document; None if its type is not supported or its parser fails.

    Raise `ParserLimitError` if its parser exceeds the limits of a worker process.
    """
    if media_type not in EXTRACTORS or len(body) > LARGEST_BODY_BYTES:
        return None
    try:
        if _needs_worker(body, media_type):
            about = {"type": media_type, "url": url, "charset": charset}
            return _of_fields(run_limited("text", about, body))
        return _extract(body, media_type, url, charset)
    except ParserLimitError:
        raise
    except Exception as error:
        # A hostile file may raise anything in its parser; other documents must still be read.
        kind = "" if isinstance(error, ParserFailedError) else f"{type(error).__name__}: "
        logger.warning("Cannot extract text from %s (%s%s): not searchable.", url, kind, error)
        return None


def prepare_worker() -> None:
    """Load what the first documents would load."""
    import pypdfium2

    assert pypdfium2
    language_of("As páginas da faculdade estão em português, as outras em inglês.")


def extract_data(data: dict[str, Any], body: bytes) -> list[Any]:
    """Return the fields of an extracted text; runs in a worker process."""
    content = _extract(body, data["type"], data["url"], data["charset"])
    return [getattr(content, name) for name in PACKED_FIELDS]


def _needs_worker(body: bytes, media_type: str) -> bool:
    """Whether the size of a document does not limit the cost of its parser."""
    if media_type == "application/pdf":
        return True
    return media_type != "text/plain" and (
        len(body) > IN_PROCESS_BYTES
        or sum(1 for _ in islice(_ROOT_TAGS.finditer(body), MOST_ROOT_TAGS)) == MOST_ROOT_TAGS
    )


def _extract(body: bytes, media_type: str, url: str, charset: str | None) -> ExtractedText:
    content = EXTRACTORS[media_type](body, url, charset)
    for name in ("title", "headings", "description", "main", "rest"):
        # Compose accents: a separate combining character would split a word.
        setattr(content, name, normalize("NFC", getattr(content, name)[:LONGEST_TEXT]))
    content.signature = signature_of(content.main).hex()
    return content
