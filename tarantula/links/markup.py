"""Links in HTML, XHTML and SVG, as a browser's parser sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from turbohtml import CData, Document, Element, HTMLParseError, Text, parse, parse_xml

from tarantula.links.absolute import Reference, absolute_links, joined
from tarantula.links.charset import decode, encoding_of
from tarantula.links.entities import mended
from tarantula.links.grammar import ANYWHERE, HTML, SVG, Form, Places
from tarantula.links.link import Link
from tarantula.links.values import READERS, SPACE

MOST_BASES = 10
"""Among how many bases the one that counts is looked for."""

DEEPEST_MARKUP = 4
"""How many times a page may hold a page that holds a page."""

_WITH_SVG = {tag: HTML.get(tag, ()) + SVG.get(tag, ()) for tag in HTML | SVG}
_WITH_STYLE = {tag: places + ANYWHERE for tag, places in _WITH_SVG.items()}
_ONE, _MARKUP = Form.ONE, Form.MARKUP
_UNFIT_BASES = ("data:", "javascript:")


def html_links(body: bytes, url: str, charset: str | None) -> list[Link]:
    """Return the links of an HTML document."""
    document = _parsed(body, encoding_of(charset))
    return _links(document, url, document.encoding)


def xml_markup_links(body: bytes, url: str, charset: str | None) -> list[Link]:
    """Return the links of an XHTML or SVG document; one that breaks the rules of XML is read as HTML."""
    text, encoding = decode(body, charset)
    try:
        document = parse_xml(mended(text))
    except HTMLParseError:
        document = _parsed(text)
    return _links(document, url, encoding)


def _parsed(markup: bytes | str, encoding: str | None = None) -> Document:
    # With scripting, what is inside <noscript> cannot break the page around it; it is read apart.
    return parse(markup, encoding=encoding, positions=False, scripting=True, allow_declarative_shadow_roots=False)


def _links(document: Document, url: str, encoding: str | None) -> list[Link]:
    base = _base_of(document, url)
    references: list[Reference] = []
    _read(document, references, base, DEEPEST_MARKUP)
    return absolute_links(references, url, base, encoding)


def _base_of(document: Document, url: str) -> str:
    """HTML, "document base URL": the first base with an href, unless that cannot be one."""
    for element in islice(document.iter_elements("base"), MOST_BASES):
        href = element.attr("href")
        if href is not None and element.closest("template") is None:
            base = joined(url, href)
            return base if base and not base.startswith(_UNFIT_BASES) else url
    return url


def _read(document: Document, references: list[Reference], base: str, depth: int) -> None:
    elements, places_of = _elements_and_places(document)
    for element in elements:
        for attribute, kind, form, when, codebase in places_of.get(element.tag, ANYWHERE):
            value = element.attr(attribute) if attribute else _own_text(element)
            if not value or (when and not when(element.attr)):
                continue
            if form is _MARKUP:
                if depth:
                    _read(_parsed(value), references, base, depth - 1)
            elif codebase and (directory := element.attr(codebase)):
                references.extend((one, kind) for one in _below(base, directory, READERS[form](value)))
            elif form is _ONE:
                references.append((value, kind))
            else:
                references.extend((one, kind) for one in READERS[form](value))


def _elements_and_places(document: Document) -> tuple[Iterator[Element], Places]:
    if document.select_one('[style*="("]'):
        return document.iter_elements(), _WITH_STYLE
    places = _WITH_SVG if document.select_one("svg") else HTML
    return document.iter_elements(places), places


def _own_text(element: Element) -> str:
    return "".join(child.data for child in element.children if isinstance(child, (Text, CData)))


def _below(base: str, directory: str, written: Iterable[str]) -> Iterator[str]:
    absolute = joined(base, f"{directory.strip(SPACE).removesuffix('/')}/") or base
    for reference in written:
        yield joined(absolute, reference.strip(SPACE)) or ""
