"""Numbers with a unit of measure, in the unit of the field."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import Kind
from tarantula.streams.values import currencies
from tarantula.streams.values.normalization import after_word, quoted
from tarantula.streams.values.numbers import number_of, plain
from tarantula.streams.values.numbers_part_multipliers import multiplier
from tarantula.streams.values.numerals import numeral
from tarantula.streams.values.quantities_part_measures import check_same_measure
from tarantula.streams.values.unit_table import TEMPERATURES
from tarantula.streams.values.units import converted, leading, usual_unit
from tarantula.streams.values.value import NotRead, Value

_NO_UNIT = ("", *"(),.;:*|·•-!")
"""What may follow a number that has no unit."""
_DEGREE_SIGN = re.compile(r"[°º](?!\s?[CFK]\b)")


def read_quantity(text: str, unit: str, history: Sequence[str]) -> Value:
    """Read a number with its unit, or without one if it is in the unit of the field."""
    found = numeral(text)
    times, rest = multiplier(found.after, Kind.QUANTITY)
    if found.in_parentheses:
        raise NotRead(f"{quoted(text)} is in parentheses, and may be below zero or not.")
    field = _usual(unit)
    named, _ = _named(rest, unit, field)
    if not named and (rest.lstrip()[:1] not in _NO_UNIT or _is_money(found.before, rest)):
        raise NotRead(f"{quoted(text)} has no unit of measure that is known.")
    if named and not field:
        check_same_measure(found, history)
    number = number_of(found, Kind.QUANTITY, history, times)
    if named and field and named != field:
        number = converted(number, named, field)
    return Value(Kind.QUANTITY, plain(number), number, named)


def _usual(unit: str) -> str:
    try:
        return usual_unit(unit) if unit else ""
    except TarantulaError as error:
        raise NotRead(str(error)) from None


def _named(rest: str, unit: str, field: str) -> tuple[str, str]:
    named, left = leading(rest)
    stripped = rest.strip()
    if field in (*TEMPERATURES, "deg", "degree") and _DEGREE_SIGN.match(stripped):
        return field, stripped[1:]
    if not named and unit and (after := after_word(rest, unit)) is not None:
        return field, after
    return named, left


def _is_money(before: str, rest: str) -> bool:
    return currencies.before(before)[0] is not None or currencies.after(rest)[0] is not None
