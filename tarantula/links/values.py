"""How one value holds several references, or something beside a reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tarantula.core.urls import SCHEMES
from tarantula.links.grammar import ValueForm
from tarantula.links.values_part_css import references_in_css, spans_in_css

SPACE = " \t\n\f\r"
"""ASCII whitespace, as HTML has it."""

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
"""Where the references are in a value."""


def spans_in_srcset(value: str) -> Spans:
    """HTML, "parse a srcset attribute": a URL may hold commas, but not end in one."""
    position = 0
    while candidate := _CANDIDATE.match(value, position):
        position = candidate.end()
        reference = candidate[1].rstrip(",")
        if reference == candidate[1] and (descriptors := _DESCRIPTORS.match(value, position)):
            position = descriptors.end()
        if reference:
            yield candidate.start(1), candidate.start(1) + len(reference)


def spans_in_refresh(value: str) -> Spans:
    """HTML, "shared declarative refresh steps"; without a reference the page reloads itself."""
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
"""Where a value of each form has its references."""


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
"""The references that a value of each form has."""
