"""Format stored values for people, in their language and time zone."""

from __future__ import annotations

from datetime import datetime, tzinfo
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.numbers import canonical_number

if TYPE_CHECKING:
    from babel import Locale

LOCALES = {"en": "en_GB", "pt": "pt_PT"}
MOST_DECIMALS = 10
_NO_BREAK = "\u00a0"
_MINUS = "−"
_UNIT_SECONDS = ((86400, "d"), (3600, "h"), (60, "min"))


def format_value(text: str, kind: ValueKind, unit: str, language: str, *, zone: tzinfo | None = None) -> str:
    """Format a stored value in a language; a text that does not fit its kind is returned unchanged."""
    if kind in (ValueKind.TEXT, ValueKind.URL):
        return text
    if kind is ValueKind.MOMENT:
        return _moment(text, zone)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or abs(number.adjusted()) > 60:
        return text
    return _number(_rounded(number), kind, unit, _locale(language))


def _number(number: Decimal, kind: ValueKind, unit: str, locale: Locale) -> str:
    from babel.numbers import format_currency, format_decimal

    from tarantula.streams.values.currencies import all_currency_codes

    if kind is ValueKind.DURATION:
        return _duration(number, locale)
    if kind is ValueKind.MONEY and unit in all_currency_codes():
        written = format_currency(number, unit, locale=locale, decimal_quantization=_decimals(number) <= 2)
        return _with_minus_sign(written)
    written = _with_minus_sign(format_decimal(number, locale=locale, decimal_quantization=False))
    unit = "%" if kind is ValueKind.PERCENTAGE else unit if kind in (ValueKind.QUANTITY, ValueKind.MONEY) else ""
    return f"{written}{_NO_BREAK}{unit}" if unit else written


def _duration(number: Decimal, locale: Locale) -> str:
    from babel.numbers import format_decimal

    rest, written = abs(number), []
    for size, name in _UNIT_SECONDS:
        whole, rest = divmod(rest, size)
        if whole:
            written.append(f"{format_decimal(whole, locale=locale)}{_NO_BREAK}{name}")
    if rest or not written:
        written.append(f"{format_decimal(rest, locale=locale, decimal_quantization=False)}{_NO_BREAK}s")
    return (_MINUS if number < 0 else "") + " ".join(written)


def _moment(text: str, zone: tzinfo | None) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    if at.tzinfo is not None:
        at = at.astimezone(zone)
    return at.strftime("%Y-%m-%d %H:%M:%S" if at.second else "%Y-%m-%d %H:%M")


def _with_minus_sign(written: str) -> str:
    return written.replace("-", _MINUS)


def _decimals(number: Decimal) -> int:
    return max(0, -int(number.as_tuple().exponent))


def _rounded(number: Decimal) -> Decimal:
    """Round to the decimals that are displayed."""
    if _decimals(number) > MOST_DECIMALS:
        number = round(number, max(MOST_DECIMALS, -number.adjusted() + 3))
    return Decimal(canonical_number(number))


@lru_cache(16)
def _locale(language: str) -> Locale:
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(LOCALES.get(language, language).replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return Locale.parse(LOCALES["en"])
