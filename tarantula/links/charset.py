"""Character encoding and character references of a document: its bytes as text, as browsers read them."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from html.entities import html5
from typing import NamedTuple
from urllib.parse import quote

import turbohtml
import turbohtml.detect  # registers the whatwg-* codecs

BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "UTF-8"), (b"\xfe\xff", "UTF-16BE"), (b"\xff\xfe", "UTF-16LE"))
_DECLARATIONS = re.compile(rb"""@charset "([^"]{1,40})";|\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})["']""")
_ENCODERS = {
    "Big5": "cp950",
    "EUC-KR": "cp949",
    "IBM866": "cp866",
    "ISO-8859-8-I": "iso-8859-8",
    "Shift_JIS": "cp932",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
_UNICODE = frozenset({"UTF-8", "UTF-16LE", "UTF-16BE", "replacement", "x-user-defined"})
_SAFE_IN_QUERY = "!$%()*+,/:=?@[\\]^`{|}"
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
# HTML, "named character reference state": in an attribute, one without a semicolon is text before = or a letter.
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*+(?:;|(?!=)))")
_QUOTES = {'"': "&quot;", "'": "&#39;"}


@lru_cache(maxsize=256)
def encoding_by_label(label: str | None) -> str | None:
    """Return the WHATWG name of the encoding with this label, or ``None`` if browsers do not know it."""
    if not label:
        return None
    try:
        return turbohtml.parse(b"", encoding=label.strip("\"' ")).encoding
    except (LookupError, ValueError):
        return None


def decode_text(body: bytes, label: str | None) -> tuple[str, str]:
    """Return the text of a stylesheet or an XML document, and its encoding."""
    mark, encoding = text_encoding(body, label)
    if mark:
        return body[len(mark) :].decode(encoding, "replace"), encoding
    return body.decode(f"whatwg-{encoding}"), encoding


def text_encoding(body: bytes, label: str | None) -> tuple[bytes, str]:
    """Return the byte-order mark and the encoding of a stylesheet or an XML document.

    A byte-order mark comes first, then the label of the HTTP header, then the declaration in the document.
    """
    return _marked(body) or (b"", encoding_by_label(label) or _declared(body) or "UTF-8")


def html_encoding(body: bytes, label: str | None) -> tuple[bytes, str]:
    """Return the byte-order mark and the encoding of an HTML document.

    A byte-order mark comes first, then the label of the HTTP header, then a ``meta`` element in the first 1,024 bytes
    or later. A page that declares nothing is in UTF-8 if all of it is valid UTF-8, else in windows-1252.
    """
    return _marked(body) or (b"", encoding_by_label(label) or turbohtml.parse(body).encoding or "windows-1252")


def _marked(body: bytes) -> tuple[bytes, str] | None:
    return next((one for one in BYTE_ORDER_MARKS if body.startswith(one[0])), None)


def _declared(body: bytes) -> str | None:
    declaration = _DECLARATIONS.match(body)
    if not declaration:
        return None
    encoding = encoding_by_label((declaration[1] or declaration[2]).decode("latin-1"))
    # CSS Syntax 3.2: a declaration that was readable byte by byte cannot be UTF-16.
    return "UTF-8" if encoding and encoding.startswith("UTF-16") else encoding


def query_encoder(encoding: str | None) -> str | None:
    """Return the codec for queries of links in a document of this encoding; ``None`` means UTF-8."""
    if encoding is None or encoding in _UNICODE:
        return None
    return _ENCODERS.get(encoding, encoding)


def encode_query(reference: str, codec: str) -> str:
    """Percent-encode the query of a reference in the document's own encoding (URL Standard, query state)."""
    address, sharp, fragment = reference.partition("#")
    path, mark, query = address.partition("?")
    return f"{path}{mark}{_FOREIGN.sub(lambda run: _percent(run[0], codec), query)}{sharp}{fragment}"


def _percent(run: str, codec: str) -> str:
    return quote(run.encode(codec, "xmlcharrefreplace"), safe=_SAFE_IN_QUERY)


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
