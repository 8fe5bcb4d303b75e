"""Decide which number a numeral means, from multipliers such as "million" and the format of earlier texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from math import log10
from typing import NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.numerals import (
    ANY_FORMAT,
    Numeral,
    NumeralReading,
    decimal_marks,
    find_numeral,
    has_decimals,
    is_unambiguous,
    numeral_readings,
    separators_in,
)
from tarantula.streams.values.value import ValueParseError, normalize_text, quote_text


class Multiplier(NamedTuple):
    """Power of ten of a word, and the decimal mark of its language, if known."""

    exponent: int
    mark: str = ""
    required_mark: str = ""
    """Decimal mark that the word requires: with a decimal comma, a billion is 10^12."""


_WORDS: dict[str, Multiplier] = {
    r"mil\s+milh(?:ões|oes|ão|ao)": Multiplier(9, ","),
    r"mil\s+(?:M(?=\s?€|\s?EUR\b)|millones)": Multiplier(9, ","),
    r"mil": Multiplier(3, ","),
    r"milh(?:ões|oes|ão|ao)": Multiplier(6, ","),
    r"bilh(?:ões|oes|ão|ao)": Multiplier(9, ","),
    r"bili(?:ões|oes|ão|ao)": Multiplier(12, ","),
    r"trilh(?:ões|oes|ão|ao)": Multiplier(12, ","),
    r"thousand": Multiplier(3, "."),
    r"millionen|millones|mio\.?": Multiplier(6, ","),
    r"millions?": Multiplier(6),
    r"milliarden?|milliards?|mrd\.?|mds?": Multiplier(9, ","),
    r"billionen": Multiplier(12, ","),
    r"billions?": Multiplier(9, ".", required_mark="."),
    r"trillions?": Multiplier(12, ".", required_mark="."),
    r"tausend|tsd\.?": Multiplier(3, ","),
    r"lakhs?": Multiplier(5, "."),
    r"crores?": Multiplier(7, "."),
}
_LETTERS: dict[str, Multiplier] = {
    "k": Multiplier(3), "K": Multiplier(3), "M": Multiplier(6), "B": Multiplier(9, "."), "bn": Multiplier(9, "."),
    "Bn": Multiplier(9, "."), "BN": Multiplier(9, "."),
}  # fmt: skip
_LETTERS_OF_MONEY: dict[str, Multiplier] = {
    "m": Multiplier(6, "."), "mn": Multiplier(6, "."), "tn": Multiplier(12, "."), "T": Multiplier(12, "."),
    "Cr": Multiplier(7, "."),
}  # fmt: skip
_WORD_MULTIPLIERS = tuple(_WORDS.values())
_WORD = re.compile("|".join(rf"({word})(?![^\W\d_])" for word in _WORDS), re.IGNORECASE)
_LETTER = re.compile(r"([kKM]|[Bb]n|BN|B|mn?|tn|T|Cr)(?=$|[\s€$£¥).,;]|EUR\b|USD\b|CHF\b)")


def split_multiplier(after: str, kind: ValueKind) -> tuple[Multiplier | None, str]:
    """Return the multiplier at the start of the text after a number, and the remaining text."""
    if not after:
        return None, after
    text = after.lstrip()
    if match := _WORD.match(text):
        return _WORD_MULTIPLIERS[(match.lastindex or 1) - 1], text[match.end() :]
    if kind is not ValueKind.QUANTITY and (match := _LETTER.match(text)):
        letters = _LETTERS | _LETTERS_OF_MONEY if kind is ValueKind.MONEY else _LETTERS
        if match[1] in letters:
            return letters[match[1]], text[match.end() :]
    return None, after


def shift_decimal(number: Decimal, places: int) -> Decimal:
    """Multiply by a power of ten, exactly."""
    sign, digits, exponent = number.as_tuple()
    return Decimal((sign, digits, int(exponent) + places))


MOST_HISTORY_TEXTS = 200
"""Maximum number of texts of a history to consider; the last ones are used."""
MOST_REMEMBERED_TEXTS = 12


class NumberStyle(NamedTuple):
    """Number style of a history."""

    formats: int = ANY_FORMAT
    """Formats that fit all its numbers, as bits; 0 if they contradict each other."""
    integer_range: tuple[float, float] | None = None
    """Smallest and largest log10 of its numbers without separators."""


UNKNOWN_STYLE = NumberStyle()


class _Evidence(NamedTuple):
    formats: int
    strict_formats: int
    size: float | None
    """log10 of a number without separators."""


def number_style(history: Sequence[str]) -> NumberStyle:
    """Return the number style of a history."""
    return _number_style(tuple(history[-MOST_HISTORY_TEXTS:])) if history else UNKNOWN_STYLE


@lru_cache(4096)
def _number_style(history: tuple[str, ...]) -> NumberStyle:
    all_evidence = [evidence for evidence in map(_evidence, history) if evidence is not None]
    formats = strict_formats = ANY_FORMAT
    for evidence in all_evidence:
        formats &= evidence.formats
        strict_formats &= evidence.strict_formats
    sizes = [evidence.size for evidence in all_evidence if evidence.size is not None]
    return NumberStyle(strict_formats or formats, (min(sizes), max(sizes)) if sizes else None)


@lru_cache(16384)
def _evidence(text: str) -> _Evidence | None:
    try:
        found = find_numeral(normalize_text(text))
    except ValueParseError:
        return None
    formats = strict_formats = 0
    for reading in numeral_readings(found.body):
        if found.exponent is not None and not has_decimals(reading, found.body):
            continue  # A mantissa before an exponent has no thousands separators.
        formats |= reading.formats
        strict_formats |= reading.strict_formats
    whole = not separators_in(found.body) and int(found.body)
    return _Evidence(formats, strict_formats, log10(whole) if whole else None) if formats else None


def informative_texts(history: Sequence[str], text: str, most: int = MOST_REMEMBERED_TEXTS) -> list[str]:
    """Return at most *most* texts that determine the number style, with the new text last.

    Texts that determine nothing are dropped first, then the oldest, so that a page can change its format.
    """
    texts = [*(earlier for earlier in history if earlier != text), text]
    while len(texts) > most:
        texts.remove(next((earlier for earlier in texts[:-1] if not _is_decisive(earlier)), texts[0]))
    return texts


def _is_decisive(text: str) -> bool:
    evidence = _evidence(text)
    return evidence is not None and len(decimal_marks(evidence.formats)) == 1


CLEAR_MARGIN_DECADES = 2.0
"""Required difference in log10 between the distances of two readings."""


def numeral_value(
    found: Numeral,
    kind: ValueKind,
    history: Sequence[str] = (),
    times: Multiplier | None = None,
    *,
    mark: str = "",
    decimals: bool = False,
) -> Decimal:
    """Return the number that a numeral means in a field with this history.

    ``mark`` is the decimal mark that the context implies; ``decimals`` means that three decimals are usual.
    """
    number = _select_reading(found, kind, number_style(history), times, mark or (times.mark if times else ""), decimals)
    exponent = (found.exponent or 0) + (times.exponent if times else 0)
    if exponent:
        number = shift_decimal(number, exponent)
    return -number if _is_negative(found, kind) and number else number


def _is_negative(found: Numeral, kind: ValueKind) -> bool:
    if found.arrow in ("▼", "↓"):
        # A percentage with a down arrow is negative; a price with one is not.
        if kind is not ValueKind.PERCENTAGE:
            raise ValueParseError(
                "An arrow points down before {text}: it may be negative, or only lower than before. "
                "Choose the number alone.",
                text=quote_text(found.body),
            )
        return True
    return found.negative


def _select_reading(
    found: Numeral, kind: ValueKind, history: NumberStyle, times: Multiplier | None, mark: str, decimals: bool
) -> Decimal:
    possible = numeral_readings(found.body)
    if found.exponent is not None:
        possible = tuple(reading for reading in possible if has_decimals(reading, found.body)) or possible
    if kind is ValueKind.INTEGER and times is None and found.exponent is None:
        possible = tuple(reading for reading in possible if _is_whole(reading.number)) or possible
    if not possible:
        raise ValueParseError("{text} is not a number in a known format.", text=quote_text(found.body))
    if times is not None and times.required_mark:
        if all(mark not in found.body for mark in ".,"):
            return possible[0].number
        mark = times.required_mark
        possible = tuple(reading for reading in possible if mark in decimal_marks(reading.formats))
        if not possible or (history.formats and mark not in decimal_marks(history.formats)):
            raise ValueParseError(
                "{text} means another number in another language.", text=quote_text(found.body + found.after)
            )
    if len(possible) == 1:
        return _single_reading(possible[0], found.body, history)
    return _preferred_reading(
        _fitting_readings(possible, found.body, history), found.body, kind, history, mark, decimals
    )


def _single_reading(reading: NumeralReading, body: str, history: NumberStyle) -> Decimal:
    contradicts = history.formats and not any(
        mark in decimal_marks(history.formats) for mark in decimal_marks(reading.formats)
    )
    if contradicts and separators_in(body) and not is_unambiguous(body):
        raise ValueParseError("{text} is not in the number format of earlier texts.", text=quote_text(body))
    return reading.number


def _fitting_readings(possible: Sequence[NumeralReading], body: str, history: NumberStyle) -> Sequence[NumeralReading]:
    if not history.formats:
        raise ValueParseError(
            "{text} can be two numbers, and earlier texts use several number formats.", text=quote_text(body)
        )
    fitting = [reading for reading in possible if reading.formats & history.formats]
    if not fitting:
        raise ValueParseError("{text} is not in the number format of earlier texts.", text=quote_text(body))
    return fitting


def _preferred_reading(
    fitting: Sequence[NumeralReading], body: str, kind: ValueKind, history: NumberStyle, mark: str, decimals: bool
) -> Decimal:
    if len(fitting) > 1 and mark:
        fitting = [reading for reading in fitting if mark in decimal_marks(reading.formats)] or fitting
    if len(fitting) == 1:
        return fitting[0].number
    with_decimals = [reading for reading in fitting if has_decimals(reading, body)]
    thousands = [reading for reading in fitting if reading not in with_decimals]
    if kind in (ValueKind.DECIMAL, ValueKind.QUANTITY) and history.integer_range and not decimals:
        return _nearest(fitting, body, *history.integer_range)
    prefers_decimals = decimals or kind in (ValueKind.PERCENTAGE, ValueKind.DECIMAL)
    chosen = with_decimals if prefers_decimals else thousands
    return (chosen or fitting)[0].number


def _nearest(fitting: Sequence[NumeralReading], body: str, fewest: float, most: float) -> Decimal:
    """Return the reading closest in magnitude to earlier integers, if one is clearly closer."""

    def distance(reading: NumeralReading) -> float:
        size = log10(reading.number) if reading.number else 0.0
        return max(fewest - size, size - most, 0.0)

    near, far = sorted(fitting, key=distance)[:2]
    if distance(far) - distance(near) < CLEAR_MARGIN_DECADES:
        raise ValueParseError(
            "{text} can be two numbers, and earlier texts do not decide which.", text=quote_text(body)
        )
    return near.number


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def require_integer(number: Decimal) -> Decimal:
    """Return the number; raise `ValueParseError` if it has decimals."""
    if not _is_whole(number):
        raise ValueParseError("{number} is not a whole number.", number=canonical_number(number))
    return number


def canonical_number(number: Decimal) -> str:
    """Return a number in canonical form: no exponent, no trailing zeros."""
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
