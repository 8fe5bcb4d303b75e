"""Styles of a stranger, without anything that they would load."""

from __future__ import annotations

import re

from tarantula.links.values_part_css import spans_in_css

EMPTY_URL = "data:,"
LONGEST_SHEET = 1_000_000
"""Letters of a stylesheet that is shown."""

_SIDES = ("top", "right", "bottom", "left")
_PLAIN = """
    align-content align-items align-self background background-color border border-collapse border-color border-radius
    border-spacing border-style border-width bottom box-shadow box-sizing caption-side clear color column-count
    column-gap columns cursor direction display flex flex-basis flex-direction flex-flow flex-grow flex-shrink
    flex-wrap float font font-family font-size font-style font-variant font-weight gap grid grid-area grid-column
    grid-row grid-template grid-template-areas grid-template-columns grid-template-rows height justify-content
    justify-items justify-self left letter-spacing line-height list-style list-style-position list-style-type margin
    max-height max-width min-height min-width opacity order outline overflow overflow-wrap overflow-x overflow-y
    padding position right row-gap table-layout text-align text-decoration text-indent text-overflow text-transform
    top transform unicode-bidi vertical-align visibility white-space width word-break word-spacing z-index
"""
ALLOWED_PROPERTIES = frozenset(
    {
        *_PLAIN.split(),
        *(f"{part}-{side}" for part in ("margin", "padding", "border") for side in _SIDES),
        *(f"border-{side}-{what}" for side in _SIDES for what in ("color", "style", "width")),
    }
)
"""What an element may say of itself in a style attribute."""


_ESCAPE = r"\\(?:[0-9a-fA-F]{1,6}(?:\r\n|[ \t\n\r\f])?+|.)"
_NAME = re.compile(rf"(?<![\w\\-])(?:[\w-]++|{_ESCAPE})++(?=\()|@(?:[\w-]++|{_ESCAPE})++", re.DOTALL)
"""What a function or a rule is called, where letters may be written as their numbers."""


def safe_css(text: str) -> str:
    """Return a stylesheet that refers to nothing; what the policy of the page forbids is not even asked for."""
    text = _undisguised(text[:LONGEST_SHEET])
    pieces: list[str] = []
    done = 0
    for start, end in spans_in_css(text):
        pieces += (text[done:start], EMPTY_URL)
        done = end
    return "".join((*pieces, text[done:]))


def _undisguised(text: str) -> str:
    """Take their names from functions and rules that are written so that nobody sees what they are called."""
    return _NAME.sub(lambda name: "x" if "\\" in name[0] else name[0], text) if "\\" in text else text
