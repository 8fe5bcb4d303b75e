"""Parse integers, decimals, percentages, and quantities with a unit of measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.normalization import normalize_text, quote_text, text_after_word
from tarantula.streams.values.numbers import (
    canonical_number,
    numeral_value,
    require_integer,
    shift_decimal,
    split_multiplier,
)
from tarantula.streams.values.numerals import Numeral, find_numeral
from tarantula.streams.values.unit_table import TEMPERATURE_UNITS
from tarantula.streams.values.units import canonical_unit, convert_unit, split_unit
from tarantula.streams.values.value import Value, ValueParseError

_ENDS = re.compile(r"[\s.,;:)*!]*")
_ORDINAL = re.compile(r"(?:\.?\s?[ºª](?!\s?[CFKcf]\b)|st|nd|rd|th|er|ère|[eè]me|e|nde?|te[rn]?)(?![^\W_])")
_PERCENT = re.compile(r"\s*(?P<sign>%|‰)|\s*(?:por cento|percent|per cent|prozent|pour cent)\b", re.IGNORECASE)
_SHARES = ("", "%", "‰")
_METRES_OR_MILLIONS = re.compile(r"\s?m(?![^\W\d_]|[²³])")
_NO_UNIT = ("", *"(),.;:*|·•-!")
"""Characters that can follow a number without a unit."""
_DEGREE_SIGN = re.compile(r"[°º](?!\s?[CFK]\b)")


def check_no_ordinal(found: Numeral) -> None:
    """Raise `ValueParseError` if a number is an ordinal."""
    alone = not found.before and found.after.strip() == "."
    if _ORDINAL.match(found.after) or alone:
        raise ValueParseError(
            "{text} is an ordinal, which is text. A regular expression can extract its digits.",
            text=quote_text(found.body + found.after),
        )


def measure_beside(found: Numeral) -> str:
    """Return the currency or unit next to a number; empty if there is none."""
    _, after = split_multiplier(found.after, ValueKind.DECIMAL)
    for currency in (currencies.currency_at_end(found.before)[0], currencies.currency_at_start(after)[0]):
        if currency is not None:
            return currency.codes[0]
    unit, rest = split_unit(after)
    return unit if _ENDS.fullmatch(rest) else ""


def check_same_measure(found: Numeral, history: Sequence[str]) -> str:
    """Return the measure next to a number; raise `ValueParseError` if earlier texts have another one."""
    named = measure_beside(found) if found.after or found.before else ""
    if named:
        before = {earlier for text in history if (earlier := _measure_of(text))}
        if before and named not in before:
            raise ValueParseError(
                "It is in {named}, and earlier texts are in {before}.", named=named, before=", ".join(sorted(before))
            )
    return named


@lru_cache(16384)
def _measure_of(text: str) -> str:
    try:
        return measure_beside(find_numeral(normalize_text(text)))
    except ValueParseError:
        return ""


def parse_number(text: str, kind: ValueKind, history: Sequence[str]) -> Value:
    """Parse an integer or a decimal."""
    found = find_numeral(text)
    if found.in_parentheses and kind is ValueKind.INTEGER and all("(" in earlier for earlier in history):
        raise ValueParseError(
            "{text} may be a count in parentheses, or a negative number in accounting notation.", text=quote_text(text)
        )
    if not found.after and not found.before:
        return _value(numeral_value(found, kind, history), kind, "")
    return _parse_with_words(text, found, kind, history)


def _parse_with_words(text: str, found: Numeral, kind: ValueKind, history: Sequence[str]) -> Value:
    check_no_ordinal(found)
    if _METRES_OR_MILLIONS.match(found.after):
        raise ValueParseError(
            "{text} may be metres or millions. Choose the kind quantity or money.", text=quote_text(text)
        )
    named = check_same_measure(found, history)
    times, rest = split_multiplier(found.after, kind)
    if not named and times is None:
        _check_no_word(found, rest)
    return _value(numeral_value(found, kind, history, times), kind, named)


def _value(number: Decimal, kind: ValueKind, named: str) -> Value:
    if kind is ValueKind.INTEGER:
        number = require_integer(number)
    return Value(kind, canonical_number(number), number, named)


def _check_no_word(found: Numeral, rest: str) -> None:
    if rest[:1].isalpha():
        raise ValueParseError("{text} is a word with a number in it.", text=quote_text(found.body + found.after))


def parse_percentage(text: str, history: Sequence[str]) -> Value:
    """Parse a percentage."""
    found = find_numeral(text)
    check_no_ordinal(found)
    times, rest = split_multiplier(found.after, ValueKind.QUANTITY)
    sign = _PERCENT.match(rest)
    before = found.before.endswith(("%", "‰"))
    if sign is None and not before and measure_beside(found) not in _SHARES:
        raise ValueParseError(
            "{text} is in {measure}, not in percent.", text=quote_text(text), measure=measure_beside(found)
        )
    number = numeral_value(found, ValueKind.PERCENTAGE, history, times)
    if (sign and sign["sign"] == "‰") or found.before.endswith("‰"):
        number = shift_decimal(number, -1)
    return Value(ValueKind.PERCENTAGE, canonical_number(number), number, "%" if sign or before else "")


def parse_quantity(text: str, unit: str, history: Sequence[str]) -> Value:
    """Parse a number with a unit and convert it to the unit of the field; without one, the field's unit is assumed."""
    found = find_numeral(text)
    times, rest = split_multiplier(found.after, ValueKind.QUANTITY)
    if found.in_parentheses:
        raise ValueParseError("{text} is in parentheses, and may be negative.", text=quote_text(text))
    field = _canonical_unit(unit)
    named, _ = _split_named_unit(rest, unit, field)
    if not named and (rest.lstrip()[:1] not in _NO_UNIT or _is_money(found.before, rest)):
        raise ValueParseError("{text} has no known unit of measure.", text=quote_text(text))
    if named and not field:
        check_same_measure(found, history)
    number = numeral_value(found, ValueKind.QUANTITY, history, times)
    if named and field and named != field:
        number = convert_unit(number, named, field)
    return Value(ValueKind.QUANTITY, canonical_number(number), number, named)


def _canonical_unit(unit: str) -> str:
    try:
        return canonical_unit(unit) if unit else ""
    except TarantulaError as error:
        raise ValueParseError(str(error)) from None


def _split_named_unit(rest: str, unit: str, field: str) -> tuple[str, str]:
    named, left = split_unit(rest)
    stripped = rest.strip()
    if field in (*TEMPERATURE_UNITS, "deg", "degree") and _DEGREE_SIGN.match(stripped):
        return field, stripped[1:]
    if not named and unit and (after := text_after_word(rest, unit)) is not None:
        return field, after
    return named, left


def _is_money(before: str, rest: str) -> bool:
    return currencies.currency_at_end(before)[0] is not None or currencies.currency_at_start(rest)[0] is not None
