"""How one value holds several references, or something beside a reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from tarantula.links.css import references_in_css
from tarantula.links.grammar import Form
from tarantula.urls import SCHEMES

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
_COMMA = re.compile(rf"[{SPACE}]*,[{SPACE}]*")


def references_in_srcset(value: str) -> Iterator[str]:
    """HTML, "parse a srcset attribute": a URL may hold commas, but not end in one."""
    position = 0
    while candidate := _CANDIDATE.match(value, position):
        position = candidate.end()
        reference = candidate[1].rstrip(",")
        if reference == candidate[1] and (descriptors := _DESCRIPTORS.match(value, position)):
            position = descriptors.end()
        if reference:
            yield reference


def references_in_refresh(value: str) -> Iterator[str]:
    """HTML, "shared declarative refresh steps"; without a reference the page reloads itself."""
    if (refresh := _REFRESH.match(value)) and refresh.lastgroup:
        yield refresh[refresh.lastgroup]


def _one(value: str) -> Iterable[str]:
    return (value,)


def _absolute(value: str) -> Iterable[str]:
    address = value.strip(SPACE)
    return [address] if address.lower().startswith(SCHEMES) else []


def _class_file(value: str) -> Iterable[str]:
    name = value.strip(SPACE).removesuffix(".class").replace(".", "/")
    return [f"{name}.class"] if name else []


READERS: dict[Form, Callable[[str], Iterable[str]]] = {
    Form.ONE: _one,
    Form.ABSOLUTE: _absolute,
    Form.SRCSET: references_in_srcset,
    Form.SPACED: str.split,
    Form.COMMAS: _COMMA.split,
    Form.REFRESH: references_in_refresh,
    Form.CLASS: _class_file,
    Form.STYLE: references_in_css,
}
