"""Find the references in attribute values and CSS, and resolve them to absolute, canonical links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tarantula.core.urls import SCHEMES, is_web, resolve
from tarantula.links.charset import encode_query, query_encoder
from tarantula.links.link import Link, LinkKind, ValueForm

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
T = TypeVar("T")


def references_in_css(text: str) -> Iterator[str]:
    """Yield the references of a stylesheet or a style attribute, in order."""
    return (unescape_css(text[start:end]) for start, end in spans_in_css(text))


def spans_in_css(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the references, without quotes; the text may be escaped."""
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
    """Replace the escapes of CSS in a reference."""
    return _ESCAPED.sub(_character, raw) if "\\" in raw else raw


def _character(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[3] or ""
    code = int(escape[1], 16)
    # CSS Syntax 4.3.7: zero, surrogates and numbers beyond Unicode are U+FFFD.
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"


SPACE = " \t\n\f\r"
"""ASCII whitespace of HTML."""

_CANDIDATE = re.compile(rf"[{SPACE},]*+([^{SPACE}]++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+")
_REFRESH = re.compile(
    rf"""[{SPACE}]*+ (?:[0-9]++[0-9.]*+ | \.[0-9.]*+)
    (?:[{SPACE}]++[;,]?+ | [;,]) [{SPACE}]*+
    (?:url[{SPACE}]*=[{SPACE}]*)?+
    (?:'(?P<single>[^']*) | "(?P<double>[^"]*) | (?P<bare>.*))""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"\S+")
_MEMBER = re.compile(rf"[^{SPACE},](?:[^,]*[^{SPACE},])?")


Spans = Iterable[tuple[int, int]]
"""Start and end of each reference in a value."""


def spans_in_srcset(value: str) -> Spans:
    """Yield the spans of a srcset. HTML, "parse a srcset attribute": a URL may contain commas, but not end in one."""
    position = 0
    while candidate := _CANDIDATE.match(value, position):
        position = candidate.end()
        reference = candidate[1].rstrip(",")
        if reference == candidate[1] and (descriptors := _DESCRIPTORS.match(value, position)):
            position = descriptors.end()
        if reference:
            yield candidate.start(1), candidate.start(1) + len(reference)


def spans_in_refresh(value: str) -> Spans:
    """Yield the span of a refresh. HTML, "shared declarative refresh steps": without a URL the page reloads itself."""
    if (refresh := _REFRESH.match(value)) and refresh.lastgroup:
        yield refresh.span(refresh.lastgroup)


def _trimmed(value: str) -> Spans:
    start = len(value) - len(value.lstrip(SPACE))
    return ((start, start + len(value.strip(SPACE))),)


def _absolute(value: str) -> Spans:
    return _trimmed(value) if value.strip(SPACE).lower().startswith(SCHEMES) else ()


def _spaced(value: str) -> Spans:
    return (word.span() for word in _WORD.finditer(value))


def _between_commas(value: str) -> Spans:
    return (member.span() for member in _MEMBER.finditer(value))


SPANS: dict[ValueForm, Callable[[str], Spans]] = {
    ValueForm.ONE: _trimmed,
    ValueForm.ABSOLUTE: _absolute,
    ValueForm.SRCSET: spans_in_srcset,
    ValueForm.SPACED: _spaced,
    ValueForm.COMMAS: _between_commas,
    ValueForm.REFRESH: spans_in_refresh,
    ValueForm.STYLE: spans_in_css,
}
"""Functions that find the references of a value, by its form."""


def _written(spans: Callable[[str], Spans]) -> Callable[[str], Iterable[str]]:
    return lambda value: (value[start:end] for start, end in spans(value))


def _class_file(value: str) -> Iterable[str]:
    name = value.strip(SPACE).removesuffix(".class").replace(".", "/")
    return [f"{name}.class"] if name else []


REFERENCE_READERS: dict[ValueForm, Callable[[str], Iterable[str]]] = {
    **{form: _written(spans) for form, spans in SPANS.items()},
    ValueForm.STYLE: references_in_css,
    ValueForm.CLASS: _class_file,
}
"""Functions that return the references of a value, by its form."""


Reference = tuple[str, LinkKind]
"""A reference as written in the document, and its kind."""

MAX_CACHED_LENGTH = 2000
"""Longer addresses are not cached."""

PLACEHOLDER_BASE = "http://localhost/"
"""Base of absolute references, which is ignored."""

_REQUISITE = LinkKind.REQUISITE


def absolute_links(
    references: Iterable[Reference], url: str, base: str | None = None, encoding: str | None = None
) -> list[Link]:
    """Return the http and https links of the document at *url*, each once, in the order of the document."""
    kinds: dict[str, LinkKind] = {}
    for target, kind in resolve_references(references, url, base, encoding):
        if kind is _REQUISITE:
            kinds[target] = kind
        else:
            kinds.setdefault(target, kind)
    return list(map(Link._make, kinds.items()))


def resolve_references(
    references: Iterable[tuple[str, T]], url: str, base: str | None = None, encoding: str | None = None
) -> Iterator[tuple[str, T]]:
    """Yield the http and https URLs of the references of the document at *url*, each with its second element.

    Most references depend only on the server or the directory of the page. Resolving against these lets the pages of a
    site share the cache.
    """
    base = base or url
    server, directory = server_and_directory(base)
    codec = query_encoder(encoding)
    for written, attached in references:
        reference = written.strip(SPACE)
        if codec and not reference.isascii():
            reference = encode_query(reference, codec)
        first = reference[:1]
        if reference.startswith(SCHEMES):
            target = join_reference(PLACEHOLDER_BASE, reference)
        elif first == "/":
            target = join_reference(server, reference)
        elif first > "#" and first != "?" and ":" not in reference:
            target = join_reference(directory, reference)
        elif not first or (first == "#" and base == url):
            continue
        else:
            target = join_reference(base, reference)
        if target is not None and target.startswith(SCHEMES):
            yield target, attached


def join_reference(base: str, reference: str) -> str | None:
    """Resolve a reference as `tarantula.core.urls.resolve` does, but without caching long ones."""
    if len(base) + len(reference) < MAX_CACHED_LENGTH:
        return resolve(base, reference)
    # An image in a data: URL may be large, and is not a link.
    return None if reference[:5].lower() == "data:" else resolve.__wrapped__(base, reference)


def server_and_directory(base: str) -> tuple[str, str]:
    """Return the root URL of the server, and the URL of the directory, of a base URL."""
    if not is_web(base):
        return base, base
    path = base.partition("?")[0]
    return path[: path.index("/", len("https://")) + 1], path[: path.rindex("/") + 1]
