"""Source text of a document with exact positions: its start tags, attribute values and elements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import accumulate
from typing import NamedTuple, Self

from turbohtml import Element

from tarantula.links.charset import html_encoding, text_encoding
from tarantula.links.markup import parse_html

_UTF_16 = ("UTF-16LE", "UTF-16BE")
_PAIRS = "[\x81-\xfe][\x40-\x7e\x80-\xfe]"
# In these encodings bytes of a character may look like a quote, a bracket or a backslash.
_DECEPTIVE = {
    "Big5": re.compile(_PAIRS),
    "EUC-KR": re.compile(_PAIRS),
    "GBK": re.compile(_PAIRS),
    "gb18030": re.compile(_PAIRS),
    "Shift_JIS": re.compile("[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]"),
    "ISO-2022-JP": re.compile(r"\x1b\$[@B].*?(?=\x1b\(|\Z)", re.DOTALL),
}


Edit = tuple[int, int, str]
"""Start, end and replacement of a part of the text; the replacement is ASCII, the same in almost any encoding."""


class SourceText(NamedTuple):
    """Text of a document with one character per byte (in UTF-16, per pair of bytes)."""

    mark: bytes
    text: str
    shape: str
    """The text, made easy to parse without changing its length: one kind of line end, and no deceptive bytes."""
    encoding: str
    codec: str
    rest: bytes = b""
    """An odd last byte of UTF-16."""

    @classmethod
    def of_html(cls, body: bytes, label: str | None) -> Self:
        """Return the source of an HTML document; *label* is its stored encoding or the charset of the HTTP header."""
        return cls._of(body, *html_encoding(body, label))

    @classmethod
    def of_text(cls, body: bytes, label: str | None) -> Self:
        """Return the source of a stylesheet or an XML document."""
        return cls._of(body, *text_encoding(body, label))

    @classmethod
    def _of(cls, body: bytes, mark: bytes, encoding: str) -> Self:
        codec = encoding if encoding in _UTF_16 else "latin-1"
        content = body[len(mark) :] if mark else body
        rest = content[len(content) & ~1 :] if encoding in _UTF_16 else b""
        text = content[: len(content) - len(rest)].decode(codec, "surrogatepass")
        return cls(mark, text, _shape(text, encoding), encoding, codec, rest)

    def decoded(self, part: str) -> str:
        """Decode a part of the text in the encoding of the document."""
        if part.isascii() or self.codec != "latin-1":
            return part
        try:
            return part.encode("latin-1").decode(f"whatwg-{self.encoding}")
        except UnicodeEncodeError:
            return part

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes of the document with some parts replaced and all others unchanged."""
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


# HTML, "tag open state" to "after attribute value (quoted) state"; the shape has no carriage returns.
_GAP = r"[ \t\n\f/]*+"
_OPEN = r"<[^ \t\n\f/>!?][^ \t\n\f/>]*+"
_NAME = r"[^ \t\n\f/>][^ \t\n\f/>=]*+"
_EQUALS = r"[ \t\n\f]*+=[ \t\n\f]*+"
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f>"'][^ \t\n\f>]*+)"""
_ATTRIBUTE = rf"{_NAME}(?:{_EQUALS}{_VALUE}?+)?+"
ATTRIBUTES = rf"(?:{_GAP}{_ATTRIBUTE})*+"
"""Pattern between the name of a tag and its end."""

# The usual form of a link: lower case, double quotes, one ASCII reference without escapes.
_OTHER = r'(?:[ \n]++(?!href=|ping=|style=)[a-z][a-z0-9-]*+="[^"]*+")*+'
_ADDRESS = r"[!$%'-\[\]-~]*+"
_FRAGMENT = r"(?:#[ !#-%'-\[\]-~]*+)?+"
_PLAIN_ANCHOR = re.compile(rf'(<a(?: href="|{_OTHER}[ \n]++href="))({_ADDRESS})(?=">|{_FRAGMENT}"{_OTHER}[ \n]*+>)')

_TAG = re.compile(rf"{_OPEN}{ATTRIBUTES}{_GAP}>")
_QUOTES = ("", '"', "'", "")
_END = r"(?=[ \t\n\f/>=])"


ValueSpan = tuple[int, int, str]
"""Start and end of a value, and its quotes."""


def plain_anchors(markup: str) -> list[str]:
    """Split markup at plain anchors: the text before one, its tag up to the address, the address, and so on.

    A match may also be in a comment; the parser decides.
    """
    return _PLAIN_ANCHOR.split(markup)


PROLOGUE = r"(?:\s|<!--(?!-?>).*?--!?>|<!--->|<!-->|<\?[^>]*>)*(?:<!doctype[^>]*>)?"
"""Pattern of the comments and the document type at the beginning of a page; any case, dots match line ends."""
_PROLOGUE = re.compile(PROLOGUE, re.IGNORECASE | re.DOTALL)


def end_of_prologue(text: str) -> int:
    """Return the end of the comments and the document type at the beginning of a page."""
    prologue = _PROLOGUE.match(text)
    return prologue.end() if prologue else 0


def end_of_tag(text: str, start: int) -> int | None:
    """Return the end of the start tag at *start*."""
    tag = _TAG.match(text, start)
    return tag.end() if tag else None


def value_of(text: str, start: int, attribute: str) -> ValueSpan | None:
    """Return the span of an attribute's value in the start tag at *start*, or ``None``."""
    found = _value_pattern(attribute).match(text, start)
    if found is None or not found.lastindex:
        return None
    start, end = found.span(found.lastindex)
    return start, end, _QUOTES[found.lastindex]


def span_of(text: str, start: int, attribute: str) -> tuple[int, int] | None:
    """Return the span of an attribute, including its name, in the start tag at *start*, or ``None``."""
    found = _attribute_pattern(attribute).match(text, start)
    return found.span(1) if found else None


@cache
def _value_pattern(attribute: str) -> re.Pattern[str]:
    values = r"""(?:"([^"]*+)"|'([^']*+)'|([^ \t\n\f>"'][^ \t\n\f>]*+))"""
    return re.compile(_before(attribute) + re.escape(attribute) + _EQUALS + values, re.IGNORECASE)


@cache
def _attribute_pattern(attribute: str) -> re.Pattern[str]:
    itself = rf"({re.escape(attribute)}{_END}(?:{_EQUALS}{_VALUE}?+)?+)"
    return re.compile(_before(attribute) + itself, re.IGNORECASE)


def _before(attribute: str) -> str:
    return rf"{_OPEN}(?:{_GAP}(?!{re.escape(attribute)}{_END}){_ATTRIBUTE})*+{_GAP}"


class PositionedTree:
    """Elements of a part of a document that starts at *start*, with their positions.

    In markup a form feed is whitespace like a line end. If all line ends are replaced by form feeds there is one line,
    and the column of an element is its position.
    """

    def __init__(self, markup: str, start: int) -> None:
        self._line_end = "\n" if "\f" in markup else "\f"
        self.document = parse_html(markup.replace("\n", self._line_end), positions=True)
        self._lines = _line_starts(markup, start) if self._line_end == "\n" else [start]

    def place(self, element: Element) -> int | None:
        """Return the position of an element's start tag, or ``None`` if the parser inserted it."""
        position = element.position
        return None if position is None else self._lines[position[0] - 1] + position[1]

    def places(self, elements: list[Element]) -> list[int | None]:
        """Return the positions of the start tags of several elements."""
        lines = self._lines
        return [
            None if (position := element.position) is None else lines[position[0] - 1] + position[1]
            for element in elements
        ]

    def value(self, element: Element, attribute: str) -> str | None:
        """Return the value of an attribute."""
        value = element.attr(attribute)
        return self.as_written(value) if value else value

    def as_written(self, value: str) -> str:
        """Restore the line ends of a value."""
        return value.replace(self._line_end, "\n")


def _line_starts(text: str, start: int) -> list[int]:
    """Return the start of each line."""
    return [start + number + before for number, before in enumerate(accumulate(map(len, text.split("\n")), initial=0))]
