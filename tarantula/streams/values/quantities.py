"""Whole numbers, decimals and percentages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.numbers import canonical_number, numeral_value, require_integer
from tarantula.streams.values.numbers_part_multipliers import shift_decimal, split_multiplier
from tarantula.streams.values.numerals import Numeral, find_numeral
from tarantula.streams.values.quantities_part_measures import check_no_ordinal, check_same_measure, measure_beside
from tarantula.streams.values.value import Value, ValueParseError

_PERCENT = re.compile(r"\s*(?P<sign>%|‰)|\s*(?:por cento|percent|per cent|prozent|pour cent)\b", re.IGNORECASE)
_SHARES = ("", "%", "‰")
_METRES_OR_MILLIONS = re.compile(r"\s?m(?![^\W\d_]|[²³])")


def parse_number(text: str, kind: ValueKind, history: Sequence[str]) -> Value:
    """Read a whole number or a decimal."""
    found = find_numeral(text)
    if found.in_parentheses and kind is ValueKind.INTEGER and all("(" in earlier for earlier in history):
        raise ValueParseError(
            f"{quote_text(text)} may be a count in parentheses, or below zero as accountants write it."
        )
    if not found.after and not found.before:
        return _value(numeral_value(found, kind, history), kind, "")
    return _read_beside_words(text, found, kind, history)


def _read_beside_words(text: str, found: Numeral, kind: ValueKind, history: Sequence[str]) -> Value:
    check_no_ordinal(found)
    if _METRES_OR_MILLIONS.match(found.after):
        raise ValueParseError(f"{quote_text(text)} may be metres or millions. Say which: choose a quantity or money.")
    named = check_same_measure(found, history)
    times, rest = split_multiplier(found.after, kind)
    if not named and times is None:
        _check_words(found, rest)
    return _value(numeral_value(found, kind, history, times), kind, named)


def _value(number: Decimal, kind: ValueKind, named: str) -> Value:
    if kind is ValueKind.INTEGER:
        number = require_integer(number)
    return Value(kind, canonical_number(number), number, named)


def _check_words(found: Numeral, rest: str) -> None:
    if rest[:1].isalpha():
        raise ValueParseError(f"{quote_text(found.body + found.after)} is a word with a number in it.")


def parse_percentage(text: str, history: Sequence[str]) -> Value:
    """Read how many of a hundred."""
    found = find_numeral(text)
    check_no_ordinal(found)
    times, rest = split_multiplier(found.after, ValueKind.QUANTITY)
    sign = _PERCENT.match(rest)
    before = found.before.endswith(("%", "‰"))
    if sign is None and not before and measure_beside(found) not in _SHARES:
        raise ValueParseError(f"{quote_text(text)} is in {measure_beside(found)}, not in percent.")
    number = numeral_value(found, ValueKind.PERCENTAGE, history, times)
    if (sign and sign["sign"] == "‰") or found.before.endswith("‰"):
        number = shift_decimal(number, -1)
    return Value(ValueKind.PERCENTAGE, canonical_number(number), number, "%" if sign or before else "")
