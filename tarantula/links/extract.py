"""The links of a document, whatever its type."""

from __future__ import annotations

import re
from collections.abc import Callable

from tarantula.core.urls import path_of
from tarantula.links.charset import decode_text
from tarantula.links.extract_part_feeds import packed_sitemap_links, sitemaps_in_robots, xml_links
from tarantula.links.link import Link, LinkKind
from tarantula.links.markup import html_links, xml_markup_links
from tarantula.links.resolve import absolute_links
from tarantula.links.values_part_css import references_in_css

Extractor = Callable[[bytes, str, str | None], list[Link]]

_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+(?><!--.*?-->[\t\n\f\r ]*+)*+"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|table|div|h1|font|iframe|frameset)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_SNIFFED_BYTES = 1024


def extract_links(body: bytes, media_type: str | None, url: str, charset: str | None = None) -> list[Link]:
    """Return the links of a document: absolute, canonical, each once, in the order of the document.

    *body* is without transfer and content coding; *media_type* is in lower case and without
    parameters; *charset* is the one that the HTTP header names; *url* is canonical.
    """
    reader = extractor_for(body, media_type or "", url)
    return reader(body, url, charset) if reader else []


def css_links(body: bytes, url: str, charset: str | None) -> list[Link]:
    """Return what a stylesheet asks for."""
    text, _ = decode_text(body, charset)
    return absolute_links(((reference, LinkKind.IN_STYLE) for reference in references_in_css(text)), url)


def robots_links(body: bytes, url: str, charset: str | None) -> list[Link]:
    """Return the sitemaps that a robots.txt names."""
    return [Link(sitemap) for sitemap in sitemaps_in_robots(body.decode("utf-8", "replace"))]


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
    """Return what finds the links of a document of this type."""
    if reader := EXTRACTORS.get(media_type):
        return reader
    if media_type.endswith("+xml"):
        return xml_links
    if media_type == "text/plain" and path_of(url) == "/robots.txt":
        return robots_links
    if media_type in ("", "application/octet-stream"):
        return _sniffed(body, url)
    return None


def _sniffed(body: bytes, url: str) -> Extractor | None:
    if _HTML_START.match(body[:_SNIFFED_BYTES]):
        return html_links
    return packed_sitemap_links if path_of(url).endswith(".xml.gz") else None
