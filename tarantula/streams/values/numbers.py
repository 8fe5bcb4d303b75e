"""Numbers, in whatever way they are written."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import log10

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.numbers_part_histories import NumberStyle, number_style
from tarantula.streams.values.numbers_part_multipliers import Multiplier, shift_decimal
from tarantula.streams.values.numerals import Numeral
from tarantula.streams.values.numerals_part_formats import (
    NumeralReading,
    decimal_marks,
    has_decimals,
    is_unambiguous,
    numeral_readings,
    separators_in,
)
from tarantula.streams.values.value import ValueParseError

CLEAR_MARGIN_DECADES = 2.0
"""How many times ten one number has to be nearer than the other."""


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

    ``mark`` is the decimal mark that the words around it speak for, ``decimals`` says that three decimals are usual.
    """
    number = _chosen(found, kind, number_style(history), times, mark or (times.mark if times else ""), decimals)
    zeros = (found.exponent or 0) + (times.zeros if times else 0)
    if zeros:
        number = shift_decimal(number, zeros)
    return -number if _is_negative(found, kind) and number else number


def _is_negative(found: Numeral, kind: ValueKind) -> bool:
    if found.arrow in ("▼", "↓"):
        # A share in percent that goes down is below zero; a price that went down is not.
        if kind is not ValueKind.PERCENTAGE:
            raise ValueParseError(
                f"An arrow points down before {quote_text(found.body)}: it may be below zero or only less than before. "
                "Choose the number alone."
            )
        return True
    return found.negative


def _chosen(
    found: Numeral, kind: ValueKind, history: NumberStyle, times: Multiplier | None, mark: str, decimals: bool
) -> Decimal:
    possible = numeral_readings(found.body)
    if found.exponent is not None:
        possible = tuple(reading for reading in possible if has_decimals(reading, found.body)) or possible
    if kind is ValueKind.INTEGER and times is None and found.exponent is None:
        possible = tuple(reading for reading in possible if _is_whole(reading.number)) or possible
    if not possible:
        raise ValueParseError(f"{quote_text(found.body)} is not how a number is written.")
    if times is not None and times.only_with:
        if all(mark not in found.body for mark in ".,"):
            return possible[0].number
        mark = times.only_with
        possible = tuple(reading for reading in possible if mark in decimal_marks(reading.formats))
        if not possible or (history.formats and mark not in decimal_marks(history.formats)):
            raise ValueParseError(f"{quote_text(found.body + found.after)} means another number in another language.")
    if len(possible) == 1:
        return _only(possible[0], found.body, history)
    return _preferred(_fitting(possible, found.body, history), found.body, kind, history, mark, decimals)


def _only(reading: NumeralReading, body: str, history: NumberStyle) -> Decimal:
    contradicts = history.formats and not any(
        mark in decimal_marks(history.formats) for mark in decimal_marks(reading.formats)
    )
    if contradicts and separators_in(body) and not is_unambiguous(body):
        raise ValueParseError(f"{quote_text(body)} is not written as the numbers before it were.")
    return reading.number


def _fitting(possible: Sequence[NumeralReading], body: str, history: NumberStyle) -> Sequence[NumeralReading]:
    if not history.formats:
        raise ValueParseError(
            f"{quote_text(body)} may be two numbers, and those before it are written in more than one way."
        )
    fitting = [reading for reading in possible if reading.formats & history.formats]
    if not fitting:
        raise ValueParseError(f"{quote_text(body)} is not written as the numbers before it were.")
    return fitting


def _preferred(
    fitting: Sequence[NumeralReading], body: str, kind: ValueKind, history: NumberStyle, mark: str, decimals: bool
) -> Decimal:
    if len(fitting) > 1 and mark:
        fitting = [reading for reading in fitting if mark in decimal_marks(reading.formats)] or fitting
    if len(fitting) == 1:
        return fitting[0].number
    with_decimals = [reading for reading in fitting if has_decimals(reading, body)]
    thousands = [reading for reading in fitting if reading not in with_decimals]
    if kind in (ValueKind.DECIMAL, ValueKind.QUANTITY) and history.wholes and not decimals:
        return _nearest(fitting, body, *history.wholes)
    prefers_decimals = decimals or kind in (ValueKind.PERCENTAGE, ValueKind.DECIMAL)
    chosen = with_decimals if prefers_decimals else thousands
    return (chosen or fitting)[0].number


def _nearest(fitting: Sequence[NumeralReading], body: str, fewest: float, most: float) -> Decimal:
    """Return the number that is as large as the whole ones before it, if only one is."""

    def distance(reading: NumeralReading) -> float:
        size = log10(reading.number) if reading.number else 0.0
        return max(fewest - size, size - most, 0.0)

    near, far = sorted(fitting, key=distance)[:2]
    if distance(far) - distance(near) < CLEAR_MARGIN_DECADES:
        raise ValueParseError(f"{quote_text(body)} may be two numbers, and those before it do not tell which.")
    return near.number


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def require_integer(number: Decimal) -> Decimal:
    """Return a number that has no decimals, or say that it has some."""
    if not _is_whole(number):
        raise ValueParseError(f"{canonical_number(number)} is not a whole number.")
    return number


def canonical_number(number: Decimal) -> str:
    """Write a number in the one way in which numbers are kept: no exponent, no needless zeros."""
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
