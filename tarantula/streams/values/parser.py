"""Parse a text as a value of a kind, and guess the kind of a field from its texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from tarantula.core import urls
from tarantula.streams.kinds import Aggregation, ValueKind, default_aggregation
from tarantula.streams.values import currencies
from tarantula.streams.values.durations import parse_duration_text
from tarantula.streams.values.moments import parse_moment
from tarantula.streams.values.numbers import split_multiplier
from tarantula.streams.values.numerals import find_numeral
from tarantula.streams.values.quantities import (
    common_currency,
    measure_beside,
    parse_money,
    parse_number,
    parse_percentage,
    parse_quantity,
)
from tarantula.streams.values.units import UNIT_GROUPS
from tarantula.streams.values.value import LONGEST_RAW_TEXT, Value, ValueParseError, normalize_text, quote_text

LONGEST_URL = 4_000
_ABSOLUTE = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_BARE = re.compile(r"www\.[^\s/]+\.[^\s/.]{2,}(?:/\S*)?", re.IGNORECASE)
LONGEST_WORDS_TEXT = 20_000
"""Maximum number of characters of the kind text."""
MOST_GUESS_TEXTS = 50
"""Maximum number of texts to consider; the last ones are used."""
_CODE = re.compile(r"0\d+|\+?\d{3}( \d{3}){3,}|\d{4}-\d{3}|\(?\+\d[\d ()-]{8,}|\(\d+\)")
"""Digits that are not a quantity: codes, telephone numbers, notes."""
_NOT_A_DATE = re.compile(r"\d\.\d{1,2}\.\d{1,2}|\d{1,2}\.\d\.\d{1,2}|\d\d/\d\d|[\d.]+")
"""Texts that could be a version, a fraction or a number as well as a date."""
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3])(?::[0-5]\d){1,2}|(?:1\d|2[0-3])h(?:[0-5]\d)?", re.IGNORECASE)
_FEW_WORDS = re.compile(r"(?:\S+ ){0,4}\S*|[▲▼↑↓%~≈]")
_TITLE = re.compile(r"|(?:[^\W\d_][^\s:]* ){0,4}[^\W\d_][^\s:]*:|[▲▼↑↓~≈]")


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


class FieldGuess(NamedTuple):
    """Guessed kind, unit and aggregation."""

    kind: ValueKind
    unit: str
    aggregation: Aggregation


def guess_field(texts: Sequence[str]) -> FieldGuess:
    """Guess the kind and unit that fit all texts of a field; text if nothing else fits."""
    present = [normalized for text in texts[-MOST_GUESS_TEXTS:] if (normalized := _normalized(text))]
    kind, unit = _guess(list(dict.fromkeys(present))) if present else (ValueKind.TEXT, "")
    return FieldGuess(kind, unit, default_aggregation(kind))


def _normalized(text: str) -> str:
    if is_url_text(text.strip()[:LONGEST_RAW_TEXT]):
        return text.strip()
    try:
        return normalize_text(text)
    except ValueParseError:
        # A text that is too long is words; an empty one is ignored.
        return "…" if len(text) > LONGEST_RAW_TEXT or len(" ".join(text.split())) > 300 else ""


def _guess(texts: list[str]) -> tuple[ValueKind, str]:
    if all(map(is_url_text, texts)):
        return ValueKind.URL, ""
    if any(_CODE.fullmatch(text) for text in texts):
        return ValueKind.TEXT, ""
    for kind, fits in _KIND_TESTS.items():
        unit = fits(texts)
        if unit is not None and _all_parse(texts, kind, unit):
            return kind, unit
    return ValueKind.TEXT, ""


def _all_parse(texts: list[str], kind: ValueKind, unit: str) -> bool:
    return all(_value(text, kind, unit, texts) is not None for text in texts)


def _value(text: str, kind: ValueKind, unit: str, history: Sequence[str]) -> Value | None:
    try:
        return parse_value(text, kind, unit, history)
    except ValueParseError:
        return None


def _measures(texts: list[str]) -> list[str] | None:
    """Return the measure next to the number in each text; None if a text is not a number with few words."""
    named = []
    for text in texts:
        try:
            found = find_numeral(text)
        except ValueParseError:
            return None
        before = currencies.currency_at_end(found.before)[1].strip()
        named.append(measure_beside(found))
        if not (_FEW_WORDS if named[-1] else _TITLE).fullmatch(before):
            return None
    return named


def _percentage(texts: list[str]) -> str | None:
    return "%" if _measures(texts) and all(unit in ("%", "‰") for unit in _measures(texts) or ()) else None


def _money(texts: list[str]) -> str | None:
    return (common_currency(texts) or None) if _measures(texts) else None


def _quantity(texts: list[str]) -> str | None:
    units = _measures(texts) or []
    if not units or not all(units):
        return None
    known = Counter(unit for unit in units if unit not in currencies.CURRENCY_CODES)
    unit = known.most_common(1)[0][0] if known else None
    return None if unit in UNIT_GROUPS["time"] else unit


def _duration(texts: list[str]) -> str | None:
    if all(_TIME_OF_DAY.fullmatch(text) for text in texts):
        return None
    bare = any(re.fullmatch(r"[-+]?[\d.,' ]+", text) for text in texts)
    return None if bare else ""


def _bare_number(texts: list[str]) -> str | None:
    """Allow one or two words after a number (12 readers), and a title with a colon before it."""
    measures = _measures(texts)
    if measures is None or len(set(filter(None, measures))) > 1:
        return None
    for text in texts:
        _, rest = split_multiplier(find_numeral(text).after, ValueKind.DECIMAL)
        if len(rest.split()) > 2:
            return None
    return ""


_KIND_TESTS: dict[ValueKind, Callable[[list[str]], str | None]] = {
    ValueKind.PERCENTAGE: _percentage,
    ValueKind.MONEY: _money,
    ValueKind.QUANTITY: _quantity,
    ValueKind.DURATION: _duration,
    ValueKind.MOMENT: lambda texts: None if all(map(_NOT_A_DATE.fullmatch, texts)) else "",
    ValueKind.INTEGER: _bare_number,
    ValueKind.DECIMAL: _bare_number,
}
"""Function that returns the unit of a kind, or None if the kind does not fit; in order of preference."""
