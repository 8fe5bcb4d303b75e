"""One text, read as what its field is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tarantula.streams.kinds import Kind
from tarantula.streams.values.durations import read_duration
from tarantula.streams.values.moments import read_moment
from tarantula.streams.values.money import read_money
from tarantula.streams.values.normalization import quoted, tidy
from tarantula.streams.values.parser_part_urls import read_url
from tarantula.streams.values.quantities import read_percentage, read_plain
from tarantula.streams.values.quantities_part_quantities import read_quantity
from tarantula.streams.values.value import NotRead, Value

LONGEST_WORDS = 20_000
"""Characters of a text that is words."""


def read_text(
    text: str,
    kind: Kind,
    unit: str,
    history: Sequence[str] = (),
    *,
    base_url: str = "",
    now: datetime | None = None,
) -> Value:
    """Return what a text means in a field of this kind and unit, whose earlier texts are the history.

    A text that does not say it, or says it in a way that could mean two things, raises `NotRead`.
    """
    if kind is Kind.TEXT:
        return _read_words(text)
    if kind is Kind.URL:
        return read_url(text, base_url)
    tidied = tidy(text)
    if kind in (Kind.INTEGER, Kind.DECIMAL):
        return read_plain(tidied, kind, history)
    if kind is Kind.PERCENTAGE:
        return read_percentage(tidied, history)
    if kind is Kind.MONEY:
        return read_money(tidied, unit, history)
    if kind is Kind.QUANTITY:
        return read_quantity(tidied, unit, history)
    in_a_line = tidied.replace("\n", " ")
    if kind is Kind.DURATION:
        return read_duration(in_a_line, unit, history)
    return read_moment(in_a_line, history, now)


def _read_words(text: str) -> Value:
    if len(text) > LONGEST_WORDS:
        raise NotRead(f"The text is {len(text)} characters long: {quoted(text)} Choose a smaller part.")
    words = " ".join(text.split())
    if not words:
        raise NotRead("No value is there: the text is empty.")
    return Value(Kind.TEXT, words)
