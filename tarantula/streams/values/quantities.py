"""Whole numbers, decimals and percentages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from tarantula.streams.kinds import Kind
from tarantula.streams.values.normalization import quoted
from tarantula.streams.values.numbers import number_of, plain, whole
from tarantula.streams.values.numbers_part_multipliers import multiplied, multiplier
from tarantula.streams.values.numerals import Numeral, numeral
from tarantula.streams.values.quantities_part_measures import check_no_ordinal, check_same_measure, measure
from tarantula.streams.values.value import NotRead, Value

_PERCENT = re.compile(r"\s*(?P<sign>%|‰)|\s*(?:por cento|percent|per cent|prozent|pour cent)\b", re.IGNORECASE)
_SHARES = ("", "%", "‰")
_METRES_OR_MILLIONS = re.compile(r"\s?m(?![^\W\d_]|[²³])")


def read_plain(text: str, kind: Kind, history: Sequence[str]) -> Value:
    """Read a whole number or a decimal."""
    found = numeral(text)
    if found.in_parentheses and kind is Kind.INTEGER and all("(" in earlier for earlier in history):
        raise NotRead(f"{quoted(text)} may be a count in parentheses, or below zero as accountants write it.")
    if not found.after and not found.before:
        return _value(number_of(found, kind, history), kind, "")
    return _read_beside_words(text, found, kind, history)


def _read_beside_words(text: str, found: Numeral, kind: Kind, history: Sequence[str]) -> Value:
    check_no_ordinal(found)
    if _METRES_OR_MILLIONS.match(found.after):
        raise NotRead(f"{quoted(text)} may be metres or millions. Say which: choose a quantity or money.")
    named = check_same_measure(found, history)
    times, rest = multiplier(found.after, kind)
    if not named and times is None:
        _check_words(found, rest)
    return _value(number_of(found, kind, history, times), kind, named)


def _value(number: Decimal, kind: Kind, named: str) -> Value:
    if kind is Kind.INTEGER:
        number = whole(number)
    return Value(kind, plain(number), number, named)


def _check_words(found: Numeral, rest: str) -> None:
    if rest[:1].isalpha():
        raise NotRead(f"{quoted(found.body + found.after)} is a word with a number in it.")


def read_percentage(text: str, history: Sequence[str]) -> Value:
    """Read how many of a hundred."""
    found = numeral(text)
    check_no_ordinal(found)
    times, rest = multiplier(found.after, Kind.QUANTITY)
    sign = _PERCENT.match(rest)
    before = found.before.endswith(("%", "‰"))
    if sign is None and not before and measure(found) not in _SHARES:
        raise NotRead(f"{quoted(text)} is in {measure(found)}, not in percent.")
    number = number_of(found, Kind.PERCENTAGE, history, times)
    if (sign and sign["sign"] == "‰") or found.before.endswith("‰"):
        number = multiplied(number, -1)
    return Value(Kind.PERCENTAGE, plain(number), number, "%" if sign or before else "")
