"""The references in CSS: ``url()``, ``@import``, and the images of an ``image-set()``."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPE = r"\\(?:[0-9a-f]{1,6}(?:\r\n|[ \t\n\r\f])?+|\r\n|.)"
_STRING = rf'(?:"(?:[^"\\\n\r\f]++|{_ESCAPE})*+"?+|' rf"'(?:[^'\\\n\r\f]++|{_ESCAPE})*+'?+)"
_SPACE = r"(?:[ \t\n\r\f]|/\*.*?\*/)*+"
_BARE = rf"(?:[^\"'()\\ \t\n\r\f\x00-\x08\x0b\x0e-\x1f\x7f]++|{_ESCAPE})++(?=[ \t\n\r\f]*+(?:\)|\Z))"
_UNREADABLE = rf"(?:[^)\\]++|{_ESCAPE})*+"
_NESTED = rf"""\((?:[^()"']++|{_STRING})*+\)"""

_TOKENS = re.compile(
    rf"""
    /\*.*?(?:\*/|\Z)
    | @(?:namespace|charset)\b[^;{{]*+
    | @import{_SPACE}(?P<imported>{_STRING})
    | url\((?<![\w-]....)[ \t\n\r\f]*+(?:(?P<quoted>{_STRING})|(?P<bare>{_BARE})|{_UNREADABLE})
    | image-set\((?P<images>(?:[^()"';{{}}]++|{_STRING}|{_NESTED})*+)
    | {_STRING}
    | \\.
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_IMAGES = re.compile(
    rf"type\([^)]*+|url\([ \t\n\r\f]*+(?P<bare>{_BARE})|(?P<quoted>{_STRING})", re.IGNORECASE | re.DOTALL
)
_ESCAPED = re.compile(r"\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|(.))", re.IGNORECASE | re.DOTALL)


def references_in_css(text: str) -> Iterator[str]:
    """Yield what a stylesheet, or the value of a style attribute, refers to, in order."""
    return (unescape_css(text[start:end]) for start, end in spans_in_css(text))


def spans_in_css(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the references are, without their quotes; what is there may be escaped."""
    for token in _TOKENS.finditer(text):
        if token.lastgroup == "images":
            for image in _IMAGES.finditer(text, *token.span("images")):
                yield from _span(image)
        elif token.lastgroup:
            yield from _span(token)


def _span(token: re.Match[str]) -> Iterator[tuple[int, int]]:
    if not token.lastgroup:
        return
    start, end = token.span(token.lastgroup)
    if token.lastgroup == "bare":
        yield start, end
        return
    closed = end - start > 1 and token.string[end - 1] == token.string[start]
    if closed or token.end() == token.endpos:
        yield start + 1, end - closed


def unescape_css(raw: str) -> str:
    """Return what an escaped reference means."""
    return _ESCAPED.sub(_character, raw) if "\\" in raw else raw


def _character(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[3] or ""
    code = int(escape[1], 16)
    # CSS Syntax 4.3.7: zero, surrogates and what lies past Unicode are U+FFFD.
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
