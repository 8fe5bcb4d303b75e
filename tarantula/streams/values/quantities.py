"""Parse quantities (a number and a unit) and money (a number and a currency)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.currencies import Currency
from tarantula.streams.values.numbers import (
    Multiplier,
    canonical_number,
    numeral_value,
    require_integer,
    shift_decimal,
    split_multiplier,
)
from tarantula.streams.values.numerals import Numeral, find_numeral
from tarantula.streams.values.units import TEMPERATURE_UNITS, canonical_unit, convert_unit, split_unit
from tarantula.streams.values.value import Value, ValueParseError, normalize_text, quote_text, text_after_word

_ENDS = re.compile(r"[\s.,;:)*!]*")
_ORDINAL = re.compile(r"(?:\.?\s?[ºª](?!\s?[CFKcf]\b)|st|nd|rd|th|er|ère|[eè]me|e|nde?|te[rn]?)(?![^\W_])")
_PERCENT = re.compile(r"\s*(?P<sign>%|‰)|\s*(?:por cento|percent|per cent|prozent|pour cent)\b", re.IGNORECASE)
_SHARES = ("", "%", "‰")
_METRES_OR_MILLIONS = re.compile(r"\s?m(?![^\W\d_]|[²³])")
_NO_UNIT = ("", *"(),.;:*|·•-!")
"""Characters that can follow a number without a unit."""
_DEGREE_SIGN = re.compile(r"[°º](?!\s?[CFK]\b)")
_EURO_AS_MARK = re.compile(r"(\d)€(\d\d)(?![\d.,])")
_ESCUDO_AS_MARK = re.compile(r"(\d)\$(\d\d)(?![\d.,])")
_PER = re.compile(r"\s*(?:/|por |per |pro |le |la |o |a )\s*(\d* ?[^\W\d_]+[²³]?)")
_UNKNOWN_SIGN = re.compile(r"(?:^|\s)[^\W\d_]{1,4}\.?$|\$")
"""Short word before a number that could be an unknown currency."""
_THREE_DECIMAL_UNITS = frozenset("l litro litros liter litre kwh m³ m3 gal min".split())
"""Units that are sold at prices with three decimals."""


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


class _Amount(NamedTuple):
    numeral: Numeral
    times: Multiplier | None
    currency: Currency | None
    per: str
    rest: str


def parse_money(text: str, unit: str, history: Sequence[str]) -> Value:
    """Parse an amount; raise `ValueParseError` if it is in another currency than the field."""
    if unit and unit not in currencies.CURRENCY_CODES:
        unit = currencies.currency_code(unit) or unit
    found = _split_amount(text, unit)
    check_no_ordinal(found.numeral)
    if found.currency is None:
        _check_no_other_unit(text, found)
    code = _currency_code_for(text, found.currency, unit, history)
    if found.per and any(
        earlier and earlier.per and earlier.per != found.per for earlier in map(_split_cached, history)
    ):
        raise ValueParseError("{text} is for another amount than earlier prices.", text=quote_text(text))
    decimals = found.per in _THREE_DECIMAL_UNITS or code in currencies.THREE_DECIMALS
    mark = currencies.currency_decimal_mark(code)
    number = numeral_value(found.numeral, ValueKind.MONEY, history, found.times, mark=mark, decimals=decimals)
    if found.currency and found.currency.hundredths:
        number = shift_decimal(number, -2)
    return Value(ValueKind.MONEY, canonical_number(number), number, code if found.currency else "")


def _split_amount(text: str, unit: str) -> _Amount:
    text = _EURO_AS_MARK.sub(r"\1,\2 €", text)
    if unit in ("CVE", "PTE"):
        text = _ESCUDO_AS_MARK.sub(r"\1,\2 $", text)
    found = find_numeral(text)
    first, _ = currencies.currency_at_end(found.before)
    times, rest = split_multiplier(found.after, ValueKind.MONEY)
    second, after = currencies.currency_at_start(rest)
    if second is None and unit and (left := text_after_word(rest, unit)) is not None:
        second, after = Currency((unit,)), left
    if first and second and not set(first.codes) & set(second.codes):
        raise ValueParseError("{text} names two currencies.", text=quote_text(text))
    codes = tuple(code for code in (first or second or Currency(())).codes if second is None or code in second.codes)
    currency = Currency(codes, (second or first or Currency(())).hundredths) if first or second else None
    per = _PER.match(after)
    return _Amount(found, times, currency, per[1].strip().casefold() if per else "", after)


def common_currency(texts: Sequence[str]) -> str:
    """Return a currency that all texts can have, if at least one names it; else empty."""
    named = [found.currency.codes for found in map(_split_cached, texts) if found and found.currency]
    return next((code for code in named[0] if all(code in codes for codes in named)), "") if named else ""


@lru_cache(16384)
def _split_cached(text: str) -> _Amount | None:
    try:
        return _split_amount(normalize_text(text), "")
    except ValueParseError:
        return None


def _check_no_other_unit(text: str, found: _Amount) -> None:
    named, _ = split_unit(found.rest)
    words = (named or found.rest.lstrip()[:1].isalpha()) and not found.per
    if words or _UNKNOWN_SIGN.search(found.numeral.before) or _has_sign(found.numeral.before + found.rest):
        raise ValueParseError("{text} is not an amount in a known currency.", text=quote_text(text))


def _has_sign(text: str) -> bool:
    return not text.isascii() and any(unicodedata.category(letter) == "Sc" for letter in text)


def _currency_code_for(text: str, currency: Currency | None, unit: str, history: Sequence[str]) -> str:
    if currency is None or unit in currency.codes:
        return unit
    if unit:
        raise ValueParseError(
            "{text} is in {code}, and the field is in {unit}.", text=quote_text(text), code=currency.codes[0], unit=unit
        )
    before = [earlier.currency.codes for earlier in map(_split_cached, history) if earlier and earlier.currency]
    possible = [code for code in currency.codes if all(code in codes for codes in before)]
    if not possible:
        raise ValueParseError(
            "{text} is in {code}, and earlier texts are in another currency.",
            text=quote_text(text),
            code=currency.codes[0],
        )
    return possible[0]
