"""What a page of HTML says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbohtml import Document, Element

from tarantula.core.urls import key_of
from tarantula.links.charset import encoding_by_label
from tarantula.links.markup import base_of, parse_html
from tarantula.links.resolve import resolve_references
from tarantula.search.texts.content import ExtractedText
from tarantula.search.texts.content_part_language import language_of

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
