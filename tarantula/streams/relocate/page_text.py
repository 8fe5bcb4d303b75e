"""Visible text of page elements, and the labels (short, stable words) in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from turbohtml import Element, Node, Text

from tarantula.streams.texts import fold_text

INVISIBLE_TAGS = frozenset({"script", "style", "template", "noscript", "head", "svg"})
LONGEST_LABEL = 80
MOST_LABEL_WORDS = 10
LONGEST_ELEMENT_TEXT = 20_000
"""Maximum number of characters of an element's text."""
_INLINE_TAGS = frozenset(
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark meter output q s samp small span strike"
    " strong time tt u var wbr".split()
)
_DAY_AND_MONTH_NAMES = (
    r"(?:segunda|terca|quarta|quinta|sexta|sabado|domingo|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|hoje|ontem|amanha|today|yesterday|tomorrow)(?:-feira)?"
)
# Changing parts: dates, times, measured numbers, counts in brackets. Other numbers belong to names: Alfa 500.
_CHANGING_PARTS = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?,? (?:de )?)?{_DAY_AND_MONTH_NAMES}\b(?:,? (?:de )?\d{{1,4}}\b)?"
    r"|\d+(?:[.,:/]\d+)+|\(\d+\)|\b\d+ (?:min|seg|sec|hor|hour|dia|day)\w*"
)
# A number with at most a few letters after it is itself a value: 12 km/h, € 3,50, USD 4.
_VALUE_TEXT = re.compile(r"[+\-−–±\s]*(?:[€$£]|R\$|[A-Z]{3}\s?(?=\d))?\s*[+\-−–]?\d[\d.,'’\s:/-]*\S{0,2}\s?\S{0,6}$")
_EDGE_CHARACTERS = " \t:;,.·•|*–—-…()[]\"“”«»'"


@lru_cache(maxsize=16384)
def as_label(text: str) -> str:
    """Return a text folded to a label, with changing parts replaced; empty if it is not a label."""
    title = as_title(text)
    return title if sum(map(str.isalnum, title)) >= 2 else ""


def as_title(text: str) -> str:
    """Return a text folded to a title, which may be a single letter; empty if it is not a title."""
    if not text or len(text) > LONGEST_LABEL or _VALUE_TEXT.match(text):
        return ""
    if text.endswith(("?", "!")) or text.count(" ") >= MOST_LABEL_WORDS:
        return ""
    bare = _CHANGING_PARTS.sub("#", fold_text(text)).strip(_EDGE_CHARACTERS)
    return bare if any(map(str.isalpha, bare)) else ""


def text_of(node: Node) -> str:
    """Return the visible text of a node, truncated to `LONGEST_ELEMENT_TEXT`.

    Lines, cells, blocks and superscripts are separated by spaces: 12<sup>50</sup> is not 1250.
    """
    if isinstance(node, Text):
        return " ".join(node.data[:LONGEST_ELEMENT_TEXT].split())
    if not isinstance(node, Element) or node.tag in INVISIBLE_TAGS:
        return ""
    children = node.children
    if len(children) == 1 and isinstance(children[0], Text):
        return " ".join(children[0].data[:LONGEST_ELEMENT_TEXT].split())
    return " ".join("".join(_visible_strings(node)).split())


def _visible_strings(element: Element) -> Iterator[str]:
    waiting: list[Node | str] = [*reversed(element.children)]
    length = 0
    while waiting and length < LONGEST_ELEMENT_TEXT:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, Text):
            yield node.data[:LONGEST_ELEMENT_TEXT]
            length += len(node.data)
        elif isinstance(node, Element) and node.tag not in INVISIBLE_TAGS:
            if node.tag not in _INLINE_TAGS:
                yield " "
                waiting.append(" ")
            waiting.extend(reversed(node.children))


def strings_of(node: Node) -> list[str]:
    """Return the separate strings of a node."""
    if isinstance(node, Text):
        text = " ".join(node.data[:2000].split())
        return [text] if text else []
    if not isinstance(node, Element) or node.tag in INVISIBLE_TAGS:
        return []
    return [" ".join(one[:2000].split()) for one in node.stripped_strings]
