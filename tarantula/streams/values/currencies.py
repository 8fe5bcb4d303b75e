"""Currencies: signs, ISO codes and words, before or after a number."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

DOLLAR_CODES = ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP", "UYU", "BRL", "CVE")
_SIGNS: dict[str, tuple[str, ...]] = {
    "€": ("EUR",), "£": ("GBP", "GIP", "EGP"), "R$": ("BRL",), "US$": ("USD",), "$US": ("USD",), "U$S": ("USD",),
    "£GB": ("GBP",), "UK£": ("GBP",), "BR$": ("BRL",), "$CA": ("CAD",), "$AU": ("AUD",), "$NZ": ("NZD",),
    "$MX": ("MXN",), "щ.д.": ("USD",), "лв.": ("BGN",),
    "$": DOLLAR_CODES, "C$": ("CAD",), "CA$": ("CAD",), "A$": ("AUD",), "AU$": ("AUD",), "NZ$": ("NZD",), "HK$":
    ("HKD",),
    "S$": ("SGD",), "NT$": ("TWD",), "MX$": ("MXN",), "¥": ("JPY", "CNY"), "円": ("JPY",), "元": ("CNY",),
    "₹": ("INR",), "Rs": ("INR", "PKR", "LKR"), "Rs.": ("INR", "PKR", "LKR"), "₽": ("RUB",), "₺": ("TRY",),
    "₩": ("KRW",), "₪": ("ILS",), "฿": ("THB",), "₫": ("VND",), "₱": ("PHP",), "₴": ("UAH",), "₦": ("NGN",),
    "₿": ("BTC",), "Kč": ("CZK",), "zł": ("PLN",), "Ft": ("HUF",), "kr": ("SEK", "NOK", "DKK", "ISK"),
    "kr.": ("DKK", "SEK", "NOK", "ISK"), "Fr.": ("CHF",), "Fr": ("CHF",), "SFr.": ("CHF",), "sFr.": ("CHF",),
    "lei": ("RON", "MDL"), "Kz": ("AOA",), "MT": ("MZN",), "MTn": ("MZN",),
}  # fmt: skip
_WORDS: dict[str, tuple[str, ...]] = {
    "euro": ("EUR",), "euros": ("EUR",), "eur": ("EUR",), "usd": ("USD",), "gbp": ("GBP",), "chf": ("CHF",),
    "brl": ("BRL",), "dólar": DOLLAR_CODES, "dólares": DOLLAR_CODES, "dolares": DOLLAR_CODES,
    "dollar": DOLLAR_CODES, "dollars": DOLLAR_CODES,
    "libra": ("GBP",), "libras": ("GBP",), "pound": ("GBP",), "pounds": ("GBP",), "pfund": ("GBP",), "livres": ("GBP",),
    "real": ("BRL",), "reais": ("BRL",), "franken": ("CHF",), "francs": ("CHF", "XOF", "XAF"), "francos": ("CHF",),
    "yen": ("JPY",), "iene": ("JPY",), "ienes": ("JPY",), "yuan": ("CNY",), "rupees": ("INR", "PKR"),
    "kwanzas": ("AOA",), "meticais": ("MZN",), "escudos": ("CVE", "PTE"),
}  # fmt: skip
_HUNDREDTHS: dict[str, tuple[str, ...]] = {
    "cêntimo": ("EUR",), "cêntimos": ("EUR",), "centimos": ("EUR",), "centimes": ("EUR", "CHF"), "pence": ("GBP",),
    "centavo": ("BRL", "MXN"), "centavos": ("BRL", "MXN"), "rappen": ("CHF",), "cent": ("EUR", *DOLLAR_CODES),
    "cents": ("EUR", *DOLLAR_CODES), "¢": ("USD", "EUR", *DOLLAR_CODES), "ct": ("EUR",),
}  # fmt: skip
CURRENCY_CODES = frozenset(
    "EUR USD GBP CHF BRL JPY CNY CAD AUD NZD HKD SGD TWD MXN ARS CLP COP UYU CVE AOA MZN PTE INR PKR LKR RUB TRY KRW "
    "ILS THB VND PHP UAH NGN BTC ETH CZK PLN HUF SEK NOK DKK ISK RON BGN HRK RSD MDL ZAR EGP MAD TND DZD KWD BHD OMR "
    "JOD SAR AED QAR IDR MYR PEN BOB PYG VES CRC KES GHS XOF XAF GIP XAU XAG".split()
)
THREE_DECIMALS = frozenset("BHD IQD JOD KWD LYD OMR TND".split())
_COMMA_CURRENCIES = frozenset("BRL CZK PLN HUF SEK NOK DKK RUB TRY UAH RON AOA ARS CLP COP UYU PTE CVE".split())
_POINT_CURRENCIES = frozenset("USD GBP CHF CAD AUD NZD HKD SGD MXN JPY CNY INR ILS KRW THB PHP".split())
_SIGNS_AND_CODES = {code: (code,) for code in CURRENCY_CODES} | _SIGNS
_ALL_SPELLINGS = sorted((*_SIGNS_AND_CODES, *_WORDS, *_HUNDREDTHS), key=len, reverse=True)
_AT_END = re.compile(
    r"(?:^|(?<=[\W\d_]))(" + "|".join(map(re.escape, _ALL_SPELLINGS)) + r")\s*$",
    re.IGNORECASE,
)
_AT_START = re.compile(
    r"\s*(?:de |of |d')?\s*(" + "|".join(map(re.escape, _ALL_SPELLINGS)) + r")(?![^\W\d_])", re.IGNORECASE
)


class Currency(NamedTuple):
    """Currency codes that a sign or word can mean, the likeliest first."""

    codes: tuple[str, ...]
    hundredths: bool = False


def currency_at_end(text: str) -> tuple[Currency | None, str]:
    """Return the currency at the end of the text before a number, and the remaining text."""
    return _split_match(_AT_END.search(text), text, at_end=True)


def currency_at_start(text: str) -> tuple[Currency | None, str]:
    """Return the currency at the start of the text after a number, and the remaining text."""
    return _split_match(_AT_START.match(text), text, at_end=False)


def _split_match(match: re.Match[str] | None, text: str, *, at_end: bool) -> tuple[Currency | None, str]:
    currency = _currency(match[1]) if match else None
    if match is None or currency is None:
        return None, text
    return currency, text[: match.start()] if at_end else text[match.end() :]


def _currency(written: str) -> Currency | None:
    # Signs and codes are case-sensitive; words are not.
    if written in _SIGNS_AND_CODES:
        return Currency(_SIGNS_AND_CODES[written])
    if written.casefold() in _WORDS:
        return Currency(_WORDS[written.casefold()])
    if written.casefold() in _HUNDREDTHS:
        return Currency(_HUNDREDTHS[written.casefold()], hundredths=True)
    return None


def currency_decimal_mark(code: str) -> str:
    """Return the usual decimal mark of a currency, or empty if there are several."""
    return "," if code in _COMMA_CURRENCIES else "." if code in _POINT_CURRENCIES else ""


@lru_cache(1)
def all_currency_codes() -> frozenset[str]:
    """Return all currency codes that a field can have as its unit."""
    from babel.core import get_global

    return CURRENCY_CODES | frozenset(get_global("all_currencies"))


@lru_cache(1024)
def currency_code(written: str) -> str | None:
    """Return the code of a currency sign, code or word; None if it is unknown."""
    named, rest = currency_at_start(written)
    if named is not None and not rest and not named.hundredths:
        return named.codes[0]
    code = written.strip().upper()
    return code if code in all_currency_codes() else None
