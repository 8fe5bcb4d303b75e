"""Extract the links of HTTP headers: ``Link`` (RFC 8288) and ``Refresh``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tarantula.links.grammar import HTML, ValueForm
from tarantula.links.link import Link, LinkKind
from tarantula.links.resolve import Reference, absolute_links
from tarantula.links.values import REFERENCE_READERS

_TARGET = re.compile(r"""<([^>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:"[^"]*"|[^\s;,"]*))?)*)""")
_PARAMETER = re.compile(r""";\s*([\w*-]+)\s*(?:=\s*(?:"([^"]*)"|([^\s;,"]*)))?""")
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
