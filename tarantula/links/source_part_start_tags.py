"""Start tags as they are written: where the value of an attribute begins and ends."""

from __future__ import annotations

import re
from functools import cache

# HTML, "tag open state" to "after attribute value (quoted) state"; carriage returns are gone.
_GAP = r"[ \t\n\f/]*+"
_OPEN = r"<[^ \t\n\f/>!?][^ \t\n\f/>]*+"
_NAME = r"[^ \t\n\f/>][^ \t\n\f/>=]*+"
_EQUALS = r"[ \t\n\f]*+=[ \t\n\f]*+"
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f>"'][^ \t\n\f>]*+)"""
_ATTRIBUTE = rf"{_NAME}(?:{_EQUALS}{_VALUE}?+)?+"
ATTRIBUTES = rf"(?:{_GAP}{_ATTRIBUTE})*+"
"""What may stand between the name of a tag and its end."""

# As most links are written: lower case, double quotes, one reference in plain ASCII that means what it says.
_OTHER = r'(?:[ \n]++(?!href=|ping=|style=)[a-z][a-z0-9-]*+="[^"]*+")*+'
_ADDRESS = r"[!$%'-\[\]-~]*+"
_FRAGMENT = r"(?:#[ !#-%'-\[\]-~]*+)?+"
_PLAIN_ANCHOR = re.compile(rf'(<a(?: href="|{_OTHER}[ \n]++href="))({_ADDRESS})(?=">|{_FRAGMENT}"{_OTHER}[ \n]*+>)')

_TAG = re.compile(rf"{_OPEN}{ATTRIBUTES}{_GAP}>")
_QUOTES = ("", '"', "'", "")
_END = r"(?=[ \t\n\f/>=])"


ValueSpan = tuple[int, int, str]
"""Where a value begins and ends, and between which quotes it is."""


def plain_anchors(markup: str) -> list[str]:
    """Cut markup where there may be links: what is before one, its tag up to the address, the address, and so on.

    Whether it is a tag, or stands in a comment, is for a parser to say.
    """
    return _PLAIN_ANCHOR.split(markup)


def end_of_tag(text: str, start: int) -> int | None:
    """Return where the start tag at *start* ends."""
    tag = _TAG.match(text, start)
    return tag.end() if tag else None


def value_of(text: str, start: int, attribute: str) -> ValueSpan | None:
    """Return where the start tag at *start* has the value of an attribute, if it has one."""
    found = _value_pattern(attribute).match(text, start)
    if found is None or not found.lastindex:
        return None
    start, end = found.span(found.lastindex)
    return start, end, _QUOTES[found.lastindex]


def span_of(text: str, start: int, attribute: str) -> tuple[int, int] | None:
    """Return where the start tag at *start* has an attribute, with its name."""
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
