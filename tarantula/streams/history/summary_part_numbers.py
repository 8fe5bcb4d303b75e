"""Numbers in values, exactly: whoever adds them in whatever order gets the same, to the last letter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache, reduce

MAX_NUMBER_CHARS = 1000
"""Letters: what is longer is a text that happens to consist of digits."""
EXACT_CONTEXT = Context(prec=100_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])
"""Never rounds: it would rather fail."""
AVERAGE_CONTEXT = Context(prec=34, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""For averages, which need not end."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


@lru_cache(4096)
def exact_number(text: str) -> Decimal | None:
    """Return the number that a value is, exactly; nothing if it is none."""
    return Decimal(text) if len(text) <= MAX_NUMBER_CHARS and _NUMBER.fullmatch(text) else None


def add_exact(numbers: Iterable[Decimal]) -> Decimal:
    """Add numbers, one at least, without losing a digit."""
    return reduce(EXACT_CONTEXT.add, numbers)


def divide_rounded(number: Decimal, by: int) -> Decimal:
    """Divide, to 34 digits."""
    return AVERAGE_CONTEXT.divide(number, Decimal(by))


def format_number(number: Decimal) -> str:
    """Write a number in the one way: ``-3.5``, without an exponent and without zeros that say nothing."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
