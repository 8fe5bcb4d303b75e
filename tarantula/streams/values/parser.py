"""Parse one text as a value of its field's kind; URLs and words are parsed here, other kinds in their modules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from tarantula.core import urls
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.durations import parse_duration_text
from tarantula.streams.values.moments import parse_moment
from tarantula.streams.values.money import parse_money
from tarantula.streams.values.normalization import normalize_text, quote_text
from tarantula.streams.values.quantities import parse_number, parse_percentage, parse_quantity
from tarantula.streams.values.value import Value, ValueParseError

LONGEST_URL = 4_000
_ABSOLUTE = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_BARE = re.compile(r"www\.[^\s/]+\.[^\s/.]{2,}(?:/\S*)?", re.IGNORECASE)
LONGEST_WORDS_TEXT = 20_000
"""Maximum number of characters of the kind text."""


def is_url_text(text: str) -> bool:
    """Whether a text is an absolute URL."""
    return len(text) <= LONGEST_URL and (_ABSOLUTE.fullmatch(text) or _BARE.fullmatch(text)) is not None


def parse_url(text: str, base_url: str) -> Value:
    """Parse a URL; relative ones are resolved against *base_url*."""
    url = text[: LONGEST_URL + 1].strip()
    if not url or len(text) > LONGEST_URL:
        raise ValueParseError("The URL is missing." if not url else "The URL is too long.")
    if any(letter.isspace() for letter in url):
        raise ValueParseError("{url} is not a URL: it contains spaces.", url=quote_text(url))
    if _BARE.fullmatch(url):
        url = f"https://{url}"
    address = urls.resolve(base_url, url) if base_url else urls.canonical(url)
    if address is None or not urls.is_web(address):
        raise ValueParseError("{url} is not a web address.", url=quote_text(url))
    return Value(ValueKind.URL, address)


def parse_value(
    text: str,
    kind: ValueKind,
    unit: str,
    history: Sequence[str] = (),
    *,
    base_url: str = "",
    now: datetime | None = None,
) -> Value:
    """Return the value of a text in a field of this kind and unit; *history* are its earlier texts.

    Raises `ValueParseError` if the text has no such value, or if it is ambiguous.
    """
    if kind is ValueKind.TEXT:
        return _parse_words(text)
    if kind is ValueKind.URL:
        return parse_url(text, base_url)
    tidied = normalize_text(text)
    if kind in (ValueKind.INTEGER, ValueKind.DECIMAL):
        return parse_number(tidied, kind, history)
    if kind is ValueKind.PERCENTAGE:
        return parse_percentage(tidied, history)
    if kind is ValueKind.MONEY:
        return parse_money(tidied, unit, history)
    if kind is ValueKind.QUANTITY:
        return parse_quantity(tidied, unit, history)
    in_a_line = tidied.replace("\n", " ")
    if kind is ValueKind.DURATION:
        return parse_duration_text(in_a_line, unit, history)
    return parse_moment(in_a_line, history, now)


def _parse_words(text: str) -> Value:
    if len(text) > LONGEST_WORDS_TEXT:
        raise ValueParseError(
            "The text is {length} characters long: {text} Choose a smaller part.",
            length=len(text),
            text=quote_text(text),
        )
    words = " ".join(text.split())
    if not words:
        raise ValueParseError("No value found: the text is empty.")
    return Value(ValueKind.TEXT, words)
