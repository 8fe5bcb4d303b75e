"""A document as its bytes are: where something stands in its text, it stands in its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

from turbohtml import parse

from tarantula.links.charset import BYTE_ORDER_MARKS, detect_encoding, encoding_by_label

PRESCAN_BYTES = 1024
"""HTML, "prescan a byte stream": in so many bytes a page may name its own charset."""

_MARKED = tuple(mark for mark, _ in BYTE_ORDER_MARKS)
_UTF_16 = ("UTF-16LE", "UTF-16BE")
_PAIRS = "[\x81-\xfe][\x40-\x7e\x80-\xfe]"
# The second byte of a character, or any byte after an escape, may look like a quote, a bracket or a backslash.
_DECEPTIVE = {
    "Big5": re.compile(_PAIRS),
    "EUC-KR": re.compile(_PAIRS),
    "GBK": re.compile(_PAIRS),
    "gb18030": re.compile(_PAIRS),
    "Shift_JIS": re.compile("[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]"),
    "ISO-2022-JP": re.compile(r"\x1b\$[@B].*?(?=\x1b\(|\Z)", re.DOTALL),
}


Edit = tuple[int, int, str]
"""Where a part of the text begins and ends, and what stands there instead: ASCII, the same in almost any encoding."""


class SourceText(NamedTuple):
    """The text of a document, one character a byte (or, in UTF-16, a pair of them)."""

    mark: bytes
    text: str
    shape: str
    """As long as the text, but easier to take apart: line ends are one character, no character looks like another."""
    encoding: str
    codec: str
    rest: bytes = b""
    """What no character could be made of."""

    @classmethod
    def of_html(cls, body: bytes, label: str | None) -> Self:
        """Take an HTML document, whose HTTP header names the charset *label*."""
        if body.startswith(_MARKED):
            return cls._of(body, *next(mark for mark in BYTE_ORDER_MARKS if body.startswith(mark[0])))
        named = encoding_by_label(label) or parse(body[:PRESCAN_BYTES]).encoding
        return cls._of(body, b"", named or "windows-1252")

    @classmethod
    def of_text(cls, body: bytes, label: str | None) -> Self:
        """Take a stylesheet or an XML document."""
        return cls._of(body, *detect_encoding(body, label))

    @classmethod
    def _of(cls, body: bytes, mark: bytes, encoding: str) -> Self:
        codec = encoding if encoding in _UTF_16 else "latin-1"
        content = body[len(mark) :] if mark else body
        rest = content[len(content) & ~1 :] if encoding in _UTF_16 else b""
        text = content[: len(content) - len(rest)].decode(codec, "surrogatepass")
        return cls(mark, text, _shape(text, encoding), encoding, codec, rest)

    def decoded(self, part: str) -> str:
        """Return what a part of the text means."""
        if part.isascii() or self.codec != "latin-1":
            return part
        try:
            return part.encode("latin-1").decode(f"whatwg-{self.encoding}")
        except UnicodeEncodeError:
            return part

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes of the document with some parts replaced; all others are as they were."""
        pieces, position, text = [], 0, self.text
        for start, end, new in sorted(edits):
            if start >= position:
                pieces.append(text[position:start])
                pieces.append(new)
                position = end
        pieces.append(text[position:])
        return b"".join((self.mark, "".join(pieces).encode(self.codec, "surrogatepass"), self.rest))


def _shape(text: str, encoding: str) -> str:
    if deceptive := _DECEPTIVE.get(encoding):
        text = deceptive.sub(lambda found: "\x80" * len(found[0]), text)
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text
