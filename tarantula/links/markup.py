"""Elements and instructions of HTML and XML that hold links."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, Self

from turbohtml import CData, Document, Element, HTMLParseError, Namespace, Text, parse, parse_xml

from tarantula.links.charset import decode_text, encoding_by_label, repair_entities, unescape_value
from tarantula.links.link import ANY_ELEMENT, HTML, SVG, ExtractedLinks, LinkKind, LinkPlaces, ValueForm
from tarantula.links.values import REFERENCE_READERS, SPACE, Reference, absolute_links, join_reference

MAX_BASE_ELEMENTS = 10
"""``base`` elements that are checked for the first valid one."""

MAX_NESTED_PAGES = 4
"""Nesting depth of pages in pages (``srcdoc``, ``noscript``)."""
_PROLOG_PART = re.compile(
    r"[\s\ufeff]++|<!--.*?-->|<\?.*?\?>|<!DOCTYPE(?:[^<>\[]++|\[.*?\]\s*(?=>))*+>", re.DOTALL | re.IGNORECASE
)
_ADDRESS = re.compile(
    r"""<\?xml-stylesheet(?=\s)(?:[^"']|"[^"]*+"|'[^']*+')*?\shref\s*=\s*(?:"([^"]*+)"|'([^']*+)')""", re.DOTALL
)


_ONE, _MARKUP = ValueForm.ONE, ValueForm.MARKUP
_UNFIT_BASES = ("data:", "javascript:")


class PlaceTables(NamedTuple):
    """Places of links in a page of HTML, in one with SVG, and in one with style attributes."""

    html: LinkPlaces
    with_svg: LinkPlaces
    with_style: LinkPlaces

    @classmethod
    def of(cls, *grammars: LinkPlaces) -> Self:
        """Combine HTML and SVG with more grammars."""
        html, with_svg = _together(HTML, *grammars), _together(HTML, SVG, *grammars)
        return cls(html, with_svg, {tag: places + ANY_ELEMENT for tag, places in with_svg.items()})

    def without(self, tag: str) -> Self:
        """Return the tables without the places of one element."""
        return type(self)(*({name: places for name, places in table.items() if name != tag} for table in self))


def _together(*grammars: LinkPlaces) -> LinkPlaces:
    return {tag: sum((grammar.get(tag, ()) for grammar in grammars), ()) for tag in ChainMap(*grammars)}


EXTRACTED_PLACES = PlaceTables.of()


def html_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return the links of an HTML document."""
    # The parser decides as `html_encoding` does, and parses only once.
    document = _parsed(body, encoding_by_label(charset))
    return _links(document, url, document.encoding)


def xml_markup_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return the links of an XHTML or SVG document; parse it as HTML if it is not well-formed."""
    text, encoding = decode_text(body, charset)
    try:
        document = parse_xml(repair_entities(text))
    except HTMLParseError:
        return _links(_parsed(text), url, encoding)
    return _links(document, url, encoding, stylesheet_references(text))


def _parsed(markup: bytes | str, encoding: str | None = None) -> Document:
    return parse_html(markup, encoding, positions=False)


def parse_html(markup: bytes | str, encoding: str | None = None, *, positions: bool) -> Document:
    """Parse a page as a browser does, with the source positions of its elements if wanted."""
    # With scripting enabled the content of <noscript> is text, which cannot break the page; it is parsed separately.
    return parse(markup, encoding=encoding, positions=positions, scripting=True, allow_declarative_shadow_roots=False)


def _links(document: Document, url: str, encoding: str | None, before: Iterable[Reference] = ()) -> ExtractedLinks:
    base = base_of(document, url)[0]
    references = list(before)
    _read(document, references, base, MAX_NESTED_PAGES)
    return ExtractedLinks(absolute_links(references, url, base, encoding), encoding)


def base_of(document: Document, url: str, decoded: Callable[[str], str] = str) -> tuple[str, Element | None]:
    """Return the base URL and its element: HTML, "document base URL", the first ``base`` with a usable href."""
    for element in islice(document.iter_elements("base"), MAX_BASE_ELEMENTS):
        href = element.attr("href")
        if href is not None and element.namespace is not Namespace.SVG and element.closest("template") is None:
            base = join_reference(url, decoded(href))
            return (base, element) if base and not base.startswith(_UNFIT_BASES) else (url, None)
    return url, None


def _read(document: Document, references: list[Reference], base: str, depth: int) -> None:
    elements, places_of = elements_and_places(document, EXTRACTED_PLACES)
    for element in elements:
        for attribute, kind, form, when, codebase in places_of.get(element.tag, ANY_ELEMENT):
            value = element.attr(attribute) if attribute else _own_text(element)
            if not value or (when and not when(element.attr)):
                continue
            if form is _MARKUP:
                if depth:
                    _read_nested(_parsed(value), references, base, depth - 1, has_own_base=attribute is not None)
            elif codebase and (directory := element.attr(codebase)):
                references.extend((one, kind) for one in _below(base, directory, REFERENCE_READERS[form](value)))
            elif form is _ONE:
                references.append((value, kind))
            else:
                references.extend((one, kind) for one in REFERENCE_READERS[form](value))


def _read_nested(page: Document, references: list[Reference], base: str, depth: int, *, has_own_base: bool) -> None:
    """Read a page in a page; one in an attribute is a document of its own, which may have another base."""
    own_base = base_of(page, base)[0] if has_own_base else base
    if own_base == base:
        _read(page, references, base, depth)
        return
    inner: list[Reference] = []
    _read(page, inner, own_base, depth)
    for written, kind in inner:
        if reference := written.strip(SPACE):
            references.append((join_reference(own_base, reference) or "", kind))


def elements_and_places(document: Document, tables: PlaceTables) -> tuple[Iterator[Element], LinkPlaces]:
    """Return the elements of a page that may hold links, and the table of their places."""
    if document.select_one('[style*="("]'):
        return document.iter_elements(), tables.with_style
    places = tables.with_svg if document.select_one("svg") else tables.html
    return document.iter_elements(places), places


def _own_text(element: Element) -> str:
    return "".join(child.data for child in element.children if isinstance(child, (Text, CData)))


def _below(base: str, directory: str, written: Iterable[str]) -> Iterator[str]:
    absolute = join_reference(base, f"{directory.strip(SPACE).removesuffix('/')}/") or base
    for reference in written:
        yield join_reference(absolute, reference.strip(SPACE)) or ""


def stylesheet_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and quotes of the address in each instruction."""
    position = 0
    while part := _PROLOG_PART.match(text, position):
        position = part.end()
        if address := _ADDRESS.match(text, part.start(), position):
            start, end = address.span(address.lastindex or 0)
            yield start, end, text[end]


def stylesheet_references(text: str) -> Iterator[Reference]:
    """Yield the references to stylesheets, without those to a part of the document itself."""
    for start, end, _ in stylesheet_spans(text):
        address = unescape_value(text[start:end]).value
        if not address.startswith("#"):
            yield address, LinkKind.REQUISITE
