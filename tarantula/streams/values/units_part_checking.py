"""Whether a unit is one that a field may have."""

from __future__ import annotations

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.time_words import UNIT_SECONDS
from tarantula.streams.values.units import canonical_unit


def check_unit(unit: str, kind: ValueKind = ValueKind.QUANTITY) -> str:
    """Return the unit of a field in its usual writing, or say that it does not exist, and which ones are near."""
    written = unit.strip()
    if not written:
        return ""
    if kind is ValueKind.QUANTITY:
        return canonical_unit(written)
    if kind is ValueKind.MONEY:
        return _currency(written)
    if kind is ValueKind.DURATION and written.casefold() not in UNIT_SECONDS:
        raise TarantulaError(f"{written[:40]!r} is not a unit of time. Write s, min, h or d.")
    return written


def _currency(written: str) -> str:
    if (code := currencies.currency_code(written)) is not None:
        return code
    near = did_you_mean(written.upper()[:10], sorted(currencies.CURRENCY_CODES))
    raise TarantulaError(f"{written[:40]!r} is not a currency.{near} Write its code, as EUR.")
