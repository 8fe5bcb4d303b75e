"""Parse durations into seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.numbers import canonical_number, numeral_value, shift_decimal
from tarantula.streams.values.numerals import find_numeral
from tarantula.streams.values.time_words import COUNT_WORDS, UNIT_MONTHS, UNIT_SECONDS
from tarantula.streams.values.value import Value, ValueParseError

_ISO = re.compile(
    r"([-+])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?(?<![PT])", re.IGNORECASE
)
_CLOCK = re.compile(
    r"([-+])?\s?(?:(\d{1,6})\s?(?:d|dias?|days?|tage?|jours?),?\s)?(\d{1,6}):([0-5]\d)(?::([0-5]\d))?([.,]\d{1,9})?"
    r"(?:\s?(h|min|s))?",
    re.IGNORECASE,
)
_PART = re.compile(r"""(?:,|e|and|und|et|\s)*(\d{1,12}(?:[.,]\d{1,9})?)\s?([^\W\d_]+\.?|''|'|"|$)""", re.IGNORECASE)
_TITLE = re.compile(r"^(?:[^\W\d_]+ ){0,3}[^\W\d_]+:\s")
_SMALLER_UNIT = {604800: 86400, 86400: 3600, 3600: 60, 60: 1}
_SIGNS = {"'": 60, "''": 1, '"': 1}


def parse_duration_text(text: str, unit: str, history: Sequence[str]) -> Value:
    """Parse a duration into seconds; a bare number is in the unit of the field."""
    text = count_to_digits(_TITLE.sub("", text))
    seconds = _iso_duration(text)
    if seconds is None:
        seconds = _clock_duration(text, unit)
    if seconds is None:
        seconds = _single_unit(text, unit, history)
    if seconds is None:
        seconds = sum_duration_parts(text)
    if seconds is None:
        raise ValueParseError("{text} is not a duration. Write it as 1:23:45, 2h 5m or 3 days.", text=quote_text(text))
    return Value(ValueKind.DURATION, canonical_number(seconds), seconds)


def count_to_digits(text: str) -> str:
    """Replace a number word at the start of a text by digits: two hours."""
    first, space, rest = text.partition(" ")
    return f"{COUNT_WORDS[first.casefold()]} {rest}" if space and first.casefold() in COUNT_WORDS else text


def _iso_duration(text: str) -> Decimal | None:
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    sign, weeks, days, hours, minutes, seconds = match.groups()
    whole = sum(int(part or 0) * size for part, size in zip((weeks, days, hours, minutes), _SMALLER_UNIT, strict=True))
    total = whole + Decimal((seconds or "0").replace(",", "."))
    return -total if sign == "-" else total


def _clock_duration(text: str, unit: str) -> Decimal | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    sign, days, first, second, third, fraction, written = match.groups()
    # Two parts are minutes and seconds, unless the text or the field has the unit h.
    in_hours = third is not None or (fraction is None and (days is not None or _is_hours(written or unit)))
    whole = int(first) * 3600 + int(second) * 60 if in_hours else int(first) * 60 + int(second)
    total = Decimal(whole + int(days or 0) * 86400 + int(third or 0))
    if fraction:
        total += Decimal(fraction.replace(",", "."))
    return -total if sign == "-" else total


def _is_hours(unit: str) -> bool:
    return UNIT_SECONDS.get(unit.casefold()) == 3600


def _single_unit(text: str, unit: str, history: Sequence[str]) -> Decimal | None:
    """Parse one number with one unit: 1,5 h."""
    try:
        found = find_numeral(text)
    except ValueParseError:
        return None
    word = found.after.strip(" .").casefold() or unit.casefold()
    if word in ("ms", "milissegundos", "milliseconds", "millisekunden", "millisecondes"):
        return shift_decimal(numeral_value(found, ValueKind.QUANTITY, history), -3)
    if word in UNIT_MONTHS:
        raise ValueParseError("{text} has no fixed length: months and years differ.", text=quote_text(text))
    if found.before or word not in UNIT_SECONDS:
        return None
    return numeral_value(found, ValueKind.QUANTITY, history) * UNIT_SECONDS[word]


def sum_duration_parts(text: str) -> Decimal | None:
    """Parse hours, minutes and so on, larger before smaller: 1 hora e 20 minutos, 2h05."""
    negative, rest = text.startswith("-"), text.lstrip("-+ ")
    total, smallest, place = Decimal(0), 0, 0
    while place < len(rest):
        match = _PART.match(rest, place)
        size = _unit_seconds(match[2], smallest) if match else None
        if match is None or size is None or (smallest and size >= smallest):
            return None
        total += Decimal(match[1].replace(",", ".")) * size
        smallest, place = size, match.end()
    return (-total if negative else total) if smallest else None


def _unit_seconds(written: str, before: int) -> int | None:
    if not written:
        return _SMALLER_UNIT.get(before)
    return _SIGNS.get(written) or UNIT_SECONDS.get(written.rstrip(".").casefold())
