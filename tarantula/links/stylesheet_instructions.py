"""``xml-stylesheet`` instructions before the root element of an XML document, by which browsers load stylesheets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tarantula.links.character_references import unescape_value
from tarantula.links.link import LinkKind
from tarantula.links.resolve import Reference

_PROLOG_PART = re.compile(
    r"[\s\ufeff]++|<!--.*?-->|<\?.*?\?>|<!DOCTYPE(?:[^<>\[]++|\[.*?\]\s*(?=>))*+>", re.DOTALL | re.IGNORECASE
)
_ADDRESS = re.compile(
    r"""<\?xml-stylesheet(?=\s)(?:[^"']|"[^"]*+"|'[^']*+')*?\shref\s*=\s*(?:"([^"]*+)"|'([^']*+)')""", re.DOTALL
)


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
