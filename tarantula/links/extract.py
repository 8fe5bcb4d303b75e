"""Extract the links of a response: of its document, and of the headers ``Link`` (RFC 8288) and ``Refresh``."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from lxml import etree

from tarantula.core.urls import SCHEMES, is_web, path_of
from tarantula.links.charset import decode_text, repair_entities
from tarantula.links.link import HTML, XML_ROOTS, ExtractedLinks, Link, LinkKind, LinkPlace, ValueForm
from tarantula.links.markup import html_links, stylesheet_references, xml_markup_links
from tarantula.links.values import REFERENCE_READERS, Reference, absolute_links, join_reference, references_in_css

MAX_SITEMAP_BYTES = 52_428_800
"""Maximum size of an uncompressed sitemap by its protocol."""

_ROBOTS_SITEMAP = re.compile(r"^[ \t\ufeff]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_TARGET = re.compile(r"""<([^>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:"[^"]*"|[^\s;,"]*))?)*)""")
_PARAMETER = re.compile(r""";\s*([\w*-]+)\s*(?:=\s*(?:"([^"]*)"|([^\s;,"]*)))?""")


def xml_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return the links of a sitemap, a feed, or XHTML and SVG sent as XML; other XML has only stylesheets."""
    text, encoding = decode_text(body, charset)
    root = _root_of(text, url)
    if _local_name(root) in ("html", "svg"):
        return xml_markup_links(body, url, charset)
    references = chain(stylesheet_references(text), _references_in(root, url))
    return ExtractedLinks(absolute_links(references, url, encoding=encoding), encoding)


def packed_sitemap_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return the links of a gzipped sitemap, up to `MAX_SITEMAP_BYTES` of it."""
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, MAX_SITEMAP_BYTES)
    except zlib.error:
        return ExtractedLinks([])
    # The bytes as they are stored have no encoding.
    return ExtractedLinks(xml_links(unpacked, url, charset).links)


def sitemaps_in_robots(text: str, url: str) -> list[str]:
    """Return the canonical URLs of the sitemaps listed in the robots.txt at *url*, each once."""
    addresses = (join_reference(url, address) for address in _ROBOTS_SITEMAP.findall(text))
    return list(dict.fromkeys(address for address in addresses if address and is_web(address)))


def _root_of(text: str, url: str) -> Any:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, encoding="utf-8")
    try:
        return etree.fromstring(repair_entities(text).encode("utf-8", "replace"), parser, base_url=url)
    except etree.XMLSyntaxError:
        return None


def _local_name(element: Any) -> str:
    return "" if element is None else re.split("[}:]", element.tag)[-1]


def _references_in(root: Any, url: str) -> Iterator[Reference]:
    if places := XML_ROOTS.get(_local_name(root)):
        for element in root.iter(etree.Element):
            for place in places.get(_local_name(element), ()):
                yield from _references_at(place, element, url)


def _references_at(place: LinkPlace, element: Any, url: str) -> list[Reference]:
    try:
        # The text may have no-break spaces around it, which are no white space of XML.
        value = element.get(place.attribute) if place.attribute else (element.text or "").strip()
        if not value or (place.when and not place.when(element.get)):
            return []
        base = element.base
    except UnicodeDecodeError:
        # With recovery, lxml accepts references to surrogates and fails when the value is read.
        return []
    written = REFERENCE_READERS[place.form](value)
    return [(reference if base == url else join_reference(base, reference) or "", place.kind) for reference in written]


Extractor = Callable[[bytes, str, str | None], ExtractedLinks]

_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+(?><!--.*?-->[\t\n\f\r ]*+)*+"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|table|div|h1|font|iframe|frameset)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_SNIFFED_BYTES = 1024
_TEXT_SITEMAP = re.compile(r"sitemap[^/]*\.txt$", re.IGNORECASE)


def extract_links(body: bytes, media_type: str | None, url: str, charset: str | None = None) -> list[Link]:
    """Return the links of a document: absolute, canonical, each once, in the order of the document.

    *body* is without transfer and content coding; *media_type* is in lower case and without
    parameters; *charset* is the one that the HTTP header names; *url* is canonical.
    """
    return read_links(body, media_type, url, charset).links


def read_links(body: bytes, media_type: str | None, url: str, charset: str | None = None) -> ExtractedLinks:
    """Return the links of a document as `extract_links` does, and the encoding in which they were read."""
    reader = extractor_for(body, media_type or "", url)
    return reader(body, url, charset) if reader else ExtractedLinks([])


def css_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return the links of a stylesheet."""
    text, encoding = decode_text(body, charset)
    references = ((reference, LinkKind.IN_STYLE) for reference in references_in_css(text))
    return ExtractedLinks(absolute_links(references, url), encoding)


def robots_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return links to the sitemaps listed in a robots.txt."""
    sitemaps = sitemaps_in_robots(body.decode("utf-8", "replace"), url)
    return ExtractedLinks([Link(sitemap) for sitemap in sitemaps], "UTF-8")


def text_sitemap_links(body: bytes, url: str, charset: str | None) -> ExtractedLinks:
    """Return the links of a sitemap that is a text: an absolute URL on each line."""
    text, encoding = decode_text(body[:MAX_SITEMAP_BYTES], charset)
    lines = (line.strip() for line in text.splitlines())
    references = ((line, LinkKind.NAVIGATION) for line in lines if line.lower().startswith(SCHEMES))
    return ExtractedLinks(absolute_links(references, url), encoding)


EXTRACTORS: dict[str, Extractor] = {
    "text/html": html_links,
    "application/xhtml+xml": xml_markup_links,
    "application/vnd.wap.xhtml+xml": xml_markup_links,
    "image/svg+xml": xml_markup_links,
    "text/css": css_links,
    "application/xml": xml_links,
    "text/xml": xml_links,
    "application/gzip": packed_sitemap_links,
    "application/x-gzip": packed_sitemap_links,
}


def extractor_for(body: bytes, media_type: str, url: str) -> Extractor | None:
    """Return the extractor for a document of this type, or ``None``."""
    if reader := EXTRACTORS.get(media_type):
        return reader
    if media_type.endswith("+xml"):
        return xml_links
    if media_type == "text/plain":
        path = path_of(url)
        return robots_links if path == "/robots.txt" else text_sitemap_links if _TEXT_SITEMAP.search(path) else None
    if media_type in ("", "application/octet-stream"):
        return _sniffed(body, url)
    return None


def _sniffed(body: bytes, url: str) -> Extractor | None:
    if _HTML_START.match(body[:_SNIFFED_BYTES]):
        return html_links
    return packed_sitemap_links if path_of(url).endswith(".xml.gz") else None


_LINK_PLACES = tuple(place for place in HTML["link"] if place.attribute == "href" and place.when)


def header_links(headers: Iterable[tuple[bytes, bytes]], url: str) -> list[Link]:
    """Return the links in the headers of the response at *url*; a ``Link`` header means what a link element does."""
    return absolute_links(_references(headers), url)


def _references(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[Reference]:
    for name, value in headers:
        lowered = name.lower()
        if lowered == b"link":
            yield from _targets(value.decode("latin-1"))
        elif lowered == b"refresh":
            for written in REFERENCE_READERS[ValueForm.REFRESH](value.decode("latin-1")):
                yield written, LinkKind.NAVIGATION


def _targets(value: str) -> Iterator[Reference]:
    for target, parameters in _TARGET.findall(value):
        attributes: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(parameters):
            attributes.setdefault(name.lower(), quoted or plain)
        for place in _LINK_PLACES:
            if place.when and attributes.get("rel") and place.when(attributes.get):
                yield target, place.kind
