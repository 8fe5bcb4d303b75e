"""Links in sitemaps, RSS and Atom."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

from lxml import etree

from tarantula.core.urls import canonical, is_web
from tarantula.links.character_references_part_entities import repair_entities
from tarantula.links.charset import decode_text
from tarantula.links.grammar import XML_ROOTS, LinkPlace
from tarantula.links.link import Link
from tarantula.links.markup import xml_markup_links
from tarantula.links.resolve import Reference, absolute_links, join_reference
from tarantula.links.values import REFERENCE_READERS

MAX_SITEMAP_BYTES = 52_428_800
"""How many bytes a sitemap may have when unpacked, by its protocol."""

_ROBOTS_SITEMAP = re.compile(r"^[ \t\ufeff]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)


def xml_links(body: bytes, url: str, charset: str | None) -> list[Link]:
    """Return the links of a sitemap, a feed, or markup that travels as XML; other XML names nothing."""
    text, encoding = decode_text(body, charset)
    root = _root_of(text, url)
    if _local_name(root) in ("html", "svg"):
        return xml_markup_links(body, url, charset)
    return absolute_links(_references_in(root, url), url, encoding=encoding)


def packed_sitemap_links(body: bytes, url: str, charset: str | None) -> list[Link]:
    """Return the links of a sitemap in gzip; of one that is larger than a sitemap may be, those at its beginning."""
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, MAX_SITEMAP_BYTES)
    except zlib.error:
        return []
    return xml_links(unpacked, url, charset)


def sitemaps_in_robots(text: str) -> list[str]:
    """Return the canonical URLs of the sitemaps that a robots.txt names, each once."""
    addresses = map(canonical, _ROBOTS_SITEMAP.findall(text))
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
        value = element.get(place.attribute) if place.attribute else element.text
        if not value or (place.when and not place.when(element.get)):
            return []
        base = element.base
    except UnicodeDecodeError:
        # A parser that forgives lets references to surrogates through.
        return []
    written = REFERENCE_READERS[place.form](value)
    return [(reference if base == url else join_reference(base, reference) or "", place.kind) for reference in written]
