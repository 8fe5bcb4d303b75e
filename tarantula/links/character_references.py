"""Character references in HTML and XML: unescape, escape, and repair of invalid ones."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import NamedTuple

# HTML, "named character reference state": in an attribute, one without a semicolon is text before = or a letter.
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*+(?:;|(?!=)))")
_QUOTES = {'"': "&quot;", "'": "&#39;"}


class UnescapedValue(NamedTuple):
    """An unescaped value, and the position in the source of each of its characters and of its end."""

    value: str
    places: list[int] | None
    """``None`` if the value has no character references."""

    def place(self, position: int) -> int:
        """Return the source position of the character at *position*."""
        return self.places[position] if self.places else position


def unescape_value(raw: str) -> UnescapedValue:
    """Replace the character references in an attribute value, or in a text of XML."""
    if "&" not in raw:
        return UnescapedValue(raw, None)
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for found in _REFERENCE.finditer(raw):
        meant = _meaning(found[0])
        if meant != found[0]:
            pieces += (raw[position : found.start()], meant)
            places += (*range(position, found.start()), *[found.start()] * len(meant))
            position = found.end()
    pieces.append(raw[position:])
    places += range(position, len(raw) + 1)
    return UnescapedValue("".join(pieces), places)


def escape_value(value: str, quote: str = "") -> str:
    """Escape a value for an attribute in these quotes, or for a text."""
    value = value.replace("&", "&amp;").replace("<", "&lt;")
    return value.replace(quote, _QUOTES[quote]) if quote else value


def _meaning(reference: str) -> str:
    return unescape(reference) if reference[1] == "#" else html5.get(reference[1:], reference)


_ENTITIES_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!#[0-9]+;|#x[0-9A-Fa-f]+;)(?P<name>[A-Za-z][A-Za-z0-9]*;)?",
    re.DOTALL,
)


def repair_entities(text: str) -> str:
    """Return XML in which all references are numeric: they need no declaration and survive error recovery."""
    return _ENTITIES_REFERENCE.sub(_numeric, text)


def _numeric(reference: re.Match[str]) -> str:
    if reference[0].startswith("<"):
        return reference[0]
    name = reference["name"] or ""
    if name in html5:
        return "".join(f"&#{ord(character)};" for character in html5[name])
    return f"&#38;{name}"
