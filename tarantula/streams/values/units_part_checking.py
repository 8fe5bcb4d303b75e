"""Whether a unit is one that a field may have."""

from __future__ import annotations

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.streams.kinds import Kind
from tarantula.streams.values import currencies
from tarantula.streams.values.time_words import SECONDS
from tarantula.streams.values.units import usual_unit


def check_unit(unit: str, kind: Kind = Kind.QUANTITY) -> str:
    """Return the unit of a field in its usual writing, or say that it does not exist, and which ones are near."""
    written = unit.strip()
    if not written:
        return ""
    if kind is Kind.QUANTITY:
        return usual_unit(written)
    if kind is Kind.MONEY:
        return _currency(written)
    if kind is Kind.DURATION and written.casefold() not in SECONDS:
        raise TarantulaError(f"{written[:40]!r} is not a unit of time. Write s, min, h or d.")
    return written


def _currency(written: str) -> str:
    if (code := currencies.usual_code(written)) is not None:
        return code
    near = did_you_mean(written.upper()[:10], sorted(currencies.CODES))
    raise TarantulaError(f"{written[:40]!r} is not a currency.{near} Write its code, as EUR.")
