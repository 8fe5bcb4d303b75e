"""Units of measure: recognise them, validate a field's unit, and convert exactly between units."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.currencies import currency_code
from tarantula.streams.values.time_words import UNIT_SECONDS
from tarantula.streams.values.unit_table import UNCONVERTIBLE_UNITS, UNIT_GROUPS
from tarantula.streams.values.value import ValueParseError

if TYPE_CHECKING:
    from pint import UnitRegistry

LONGEST_UNIT = 40
SIGNIFICANT_DIGITS = 18
"""Digits of a converted number that is not finite, such as a third of a metre."""
_SAFE_CHARACTERS = re.compile(r"[A-Za-zµΩÅ°%/·*^() ²³0-9_-]+")
_PINT_SYNTAX = str.maketrans({"²": "**2", "³": "**3", "·": "*", "^": "**", "µ": "u"})
_PINT_NAMES = {unit: name for group in UNIT_GROUPS.values() for unit, (name, _) in group.items()}


def _spellings() -> tuple[dict[str, str], dict[str, str]]:
    exact: dict[str, str] = {}
    words: dict[str, str] = {}
    listed = [(unit, others) for group in UNIT_GROUPS.values() for unit, (_, others) in group.items()]
    for unit, others in (*listed, *UNCONVERTIBLE_UNITS.items()):
        for spelling in (unit, *others.split("; ")):
            exact.setdefault(spelling, unit)
            if len(spelling) > 3:
                words.setdefault(spelling.casefold(), unit)
    exact.pop("", None)
    return exact, words


_EXACT, _WORDS = _spellings()
_ANY_SPELLING = "|".join(re.escape(spelling) for spelling in sorted({*_EXACT, *_WORDS}, key=len, reverse=True))
_LEADING = re.compile(rf"\s*(?:de |of )?({_ANY_SPELLING})(?![^\W_]|[/²³](?=\w))\.?", re.IGNORECASE)


def unit_named(spelling: str) -> str | None:
    """Return the canonical unit of a known spelling; None if unknown."""
    return _EXACT.get(spelling) or (_WORDS.get(spelling.casefold()) if len(spelling) > 3 else None)


def split_unit(after: str) -> tuple[str, str]:
    """Return the unit at the start of a text, and the remaining text; empty if there is none."""
    match = _LEADING.match(after)
    unit = unit_named(match[1]) if match else None
    return (unit, after[match.end() :]) if match and unit else ("", after)


def canonical_unit(unit: str) -> str:
    """Return the canonical form of a unit; raise `TarantulaError` with similar names if it is unknown."""
    spelling = " ".join(unit.split())
    if (usual := unit_named(spelling)) is not None:
        return usual
    if not spelling or len(spelling) > LONGEST_UNIT or _dimension(spelling) is None:
        near = did_you_mean(spelling[:LONGEST_UNIT], {*_EXACT, *_WORDS})
        raise TarantulaError(
            "{unit!r} is not a unit of measure.{hint} Examples: km/h, °C, µg/m³.", unit=unit[:LONGEST_UNIT], hint=near
        )
    return spelling


def convertible_units(unit: str) -> list[str]:
    """Return the common units that a unit can be converted to, including itself."""
    if unit not in _EXACT and (code := currency_code(unit)) is not None:
        return [code]  # Exchange rates are separate sources.
    usual = canonical_unit(unit)
    group = next((list(group) for group in UNIT_GROUPS.values() if usual in group), None)
    if usual in UNCONVERTIBLE_UNITS:
        return [usual]
    dimension = _dimension(usual)
    if group is None or len(group) == 1:
        fitting = [unit for units in UNIT_GROUPS.values() for unit in units if _dimension(unit) == dimension]
        return list(dict.fromkeys((usual, *fitting)))
    return group


def convert_unit(number: Decimal, from_: str, to: str) -> Decimal:
    """Convert a number between units, exactly if the result is finite; raise `ValueParseError` if they are
    incompatible."""
    try:
        source, end = canonical_unit(from_), canonical_unit(to)
    except TarantulaError as error:
        raise ValueParseError(str(error)) from None
    if source == end:
        return number
    conversion = _conversion(source, end)
    if conversion is None:
        raise ValueParseError(
            "{source} cannot be converted to {end}: they measure different things.", source=source, end=end
        )
    factor, offset = conversion
    return _decimal(Fraction(number) * factor + offset)


@lru_cache(2048)
def _conversion(source: str, end: str) -> tuple[Fraction, Fraction] | None:
    """Return factor and offset between two units; None if they are incompatible."""
    first = _dimension(source)
    if first is None or first != _dimension(end):
        return None
    zero, one = (
        Fraction(_registry().convert(Fraction(number), _pint_name(source), _pint_name(end))) for number in (0, 1)
    )
    return one - zero, zero


@lru_cache(2048)
def _dimension(unit: str) -> frozenset[tuple[str, Any]] | None:
    """Return the dimensions of a unit; None if it is unknown or cannot be converted."""
    if (
        unit in UNCONVERTIBLE_UNITS
        or not _SAFE_CHARACTERS.fullmatch(_pint_name(unit))
        or re.search(r"\d{2}|\*\*\s*\*|\(.*\(", _pint_name(unit))
    ):
        return None
    try:
        parsed: Any = _registry().parse_units(_pint_name(unit))
        _registry().convert(Fraction(1), parsed, parsed)
    except Exception:  # pint raises many exception types for invalid input
        return None
    if any(part.startswith(("decibel", "delta_", "neper")) for part in parsed._units):
        return None
    return frozenset(parsed.dimensionality.items())


def _pint_name(unit: str) -> str:
    return _PINT_NAMES.get(unit) or unit.translate(_PINT_SYNTAX)


@lru_cache(1)
def _registry() -> UnitRegistry[Any]:
    # Imported here: slow, and needed only if units differ.
    from pint import UnitRegistry

    registry: UnitRegistry[Any] = UnitRegistry(non_int_type=Fraction, autoconvert_offset_to_baseunit=True)
    registry.define("ppb = 1e-9")
    return registry


def _decimal(number: Fraction) -> Decimal:
    rest = number.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    context = Context(prec=400 if rest == 1 else SIGNIFICANT_DIGITS)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def check_unit(unit: str, kind: ValueKind = ValueKind.QUANTITY) -> str:
    """Return the canonical unit of a field; raise `TarantulaError` with similar names if it is unknown."""
    spelling = unit.strip()
    if not spelling:
        return ""
    if kind is ValueKind.QUANTITY:
        return canonical_unit(spelling)
    if kind is ValueKind.MONEY:
        return _currency(spelling)
    if kind is ValueKind.DURATION and spelling.casefold() not in UNIT_SECONDS:
        raise TarantulaError("{spelling!r} is not a unit of time. Write s, min, h or d.", spelling=spelling[:40])
    return spelling


def _currency(spelling: str) -> str:
    if (code := currencies.currency_code(spelling)) is not None:
        return code
    near = did_you_mean(spelling.upper()[:10], sorted(currencies.CURRENCY_CODES))
    raise TarantulaError(
        "{spelling!r} is not a currency.{hint} Use its code, such as EUR.", spelling=spelling[:40], hint=near
    )
