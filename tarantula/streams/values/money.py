"""Parse amounts of money in the currency of the field."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.currencies import Currency
from tarantula.streams.values.normalization import normalize_text, quote_text, text_after_word
from tarantula.streams.values.numbers import (
    Multiplier,
    canonical_number,
    numeral_value,
    shift_decimal,
    split_multiplier,
)
from tarantula.streams.values.numerals import Numeral, find_numeral
from tarantula.streams.values.quantities import check_no_ordinal
from tarantula.streams.values.units import split_unit
from tarantula.streams.values.value import Value, ValueParseError

_EURO_AS_MARK = re.compile(r"(\d)€(\d\d)(?![\d.,])")
_ESCUDO_AS_MARK = re.compile(r"(\d)\$(\d\d)(?![\d.,])")
_PER = re.compile(r"\s*(?:/|por |per |pro |le |la |o |a )\s*(\d* ?[^\W\d_]+[²³]?)")
_UNKNOWN_SIGN = re.compile(r"(?:^|\s)[^\W\d_]{1,4}\.?$|\$")
"""Short word before a number that could be an unknown currency."""
_THREE_DECIMAL_UNITS = frozenset("l litro litros liter litre kwh m³ m3 gal min".split())
"""Units that are sold at prices with three decimals."""


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
