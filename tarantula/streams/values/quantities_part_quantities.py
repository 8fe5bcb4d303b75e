"""Numbers with a unit of measure, in the unit of the field."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.normalization import quote_text, text_after_word
from tarantula.streams.values.numbers import canonical_number, numeral_value
from tarantula.streams.values.numbers_part_multipliers import split_multiplier
from tarantula.streams.values.numerals import find_numeral
from tarantula.streams.values.quantities_part_measures import check_same_measure
from tarantula.streams.values.unit_table import TEMPERATURE_UNITS
from tarantula.streams.values.units import canonical_unit, convert_unit, split_unit
from tarantula.streams.values.value import Value, ValueParseError

_NO_UNIT = ("", *"(),.;:*|·•-!")
"""What may follow a number that has no unit."""
_DEGREE_SIGN = re.compile(r"[°º](?!\s?[CFK]\b)")


def parse_quantity(text: str, unit: str, history: Sequence[str]) -> Value:
    """Read a number with its unit, or without one if it is in the unit of the field."""
    found = find_numeral(text)
    times, rest = split_multiplier(found.after, ValueKind.QUANTITY)
    if found.in_parentheses:
        raise ValueParseError(f"{quote_text(text)} is in parentheses, and may be below zero or not.")
    field = _usual(unit)
    named, _ = _named(rest, unit, field)
    if not named and (rest.lstrip()[:1] not in _NO_UNIT or _is_money(found.before, rest)):
        raise ValueParseError(f"{quote_text(text)} has no unit of measure that is known.")
    if named and not field:
        check_same_measure(found, history)
    number = numeral_value(found, ValueKind.QUANTITY, history, times)
    if named and field and named != field:
        number = convert_unit(number, named, field)
    return Value(ValueKind.QUANTITY, canonical_number(number), number, named)


def _usual(unit: str) -> str:
    try:
        return canonical_unit(unit) if unit else ""
    except TarantulaError as error:
        raise ValueParseError(str(error)) from None


def _named(rest: str, unit: str, field: str) -> tuple[str, str]:
    named, left = split_unit(rest)
    stripped = rest.strip()
    if field in (*TEMPERATURE_UNITS, "deg", "degree") and _DEGREE_SIGN.match(stripped):
        return field, stripped[1:]
    if not named and unit and (after := text_after_word(rest, unit)) is not None:
        return field, after
    return named, left


def _is_money(before: str, rest: str) -> bool:
    return currencies.currency_at_end(before)[0] is not None or currencies.currency_at_start(rest)[0] is not None
