"""One text, read as what its field is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.durations import parse_duration_text
from tarantula.streams.values.moments import parse_moment
from tarantula.streams.values.money import parse_money
from tarantula.streams.values.normalization import normalize_text, quote_text
from tarantula.streams.values.parser_part_urls import parse_url
from tarantula.streams.values.quantities import parse_number, parse_percentage
from tarantula.streams.values.quantities_part_quantities import parse_quantity
from tarantula.streams.values.value import Value, ValueParseError

LONGEST_WORDS_TEXT = 20_000
"""Characters of a text that is words."""


def parse_value(
    text: str,
    kind: ValueKind,
    unit: str,
    history: Sequence[str] = (),
    *,
    base_url: str = "",
    now: datetime | None = None,
) -> Value:
    """Return what a text means in a field of this kind and unit, whose earlier texts are the history.

    A text that does not say it, or says it in a way that could mean two things, raises `NotRead`.
    """
    if kind is ValueKind.TEXT:
        return _read_words(text)
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


def _read_words(text: str) -> Value:
    if len(text) > LONGEST_WORDS_TEXT:
        raise ValueParseError(f"The text is {len(text)} characters long: {quote_text(text)} Choose a smaller part.")
    words = " ".join(text.split())
    if not words:
        raise ValueParseError("No value is there: the text is empty.")
    return Value(ValueKind.TEXT, words)
