"""What a number counts, by what stands beside it: a share, a currency, a unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from tarantula.streams.kinds import Kind
from tarantula.streams.values import currencies
from tarantula.streams.values.normalization import quoted, tidy
from tarantula.streams.values.numbers_part_multipliers import multiplier
from tarantula.streams.values.numerals import Numeral, numeral
from tarantula.streams.values.units import leading
from tarantula.streams.values.value import NotRead

_ENDS = re.compile(r"[\s.,;:)*!]*")
_ORDINAL = re.compile(r"(?:\.?\s?[ºª](?!\s?[CFKcf]\b)|st|nd|rd|th|er|ère|[eè]me|e|nde?|te[rn]?)(?![^\W_])")


def check_no_ordinal(found: Numeral) -> None:
    """Say that a number is a place in an order, if it is."""
    alone = not found.before and found.after.strip() == "."
    if _ORDINAL.match(found.after) or alone:
        raise NotRead(
            f"{quoted(found.body + found.after)} is a place in an order, which is text. "
            "A regular expression can choose its digits."
        )


def measure(found: Numeral) -> str:
    """Return the currency or the unit that is named right beside a number, or nothing."""
    _, after = multiplier(found.after, Kind.DECIMAL)
    for currency in (currencies.before(found.before)[0], currencies.after(after)[0]):
        if currency is not None:
            return currency.codes[0]
    unit, rest = leading(after)
    return unit if _ENDS.fullmatch(rest) else ""


def check_same_measure(found: Numeral, history: Sequence[str]) -> str:
    """Return what is named beside a number, or say that the numbers before it counted something else."""
    named = measure(found) if found.after or found.before else ""
    if named:
        before = {earlier for text in history if (earlier := _measure_of(text))}
        if before and named not in before:
            raise NotRead(f"It is in {named}, and those before it are in {', '.join(sorted(before))}.")
    return named


@lru_cache(16384)
def _measure_of(text: str) -> str:
    try:
        return measure(numeral(tidy(text)))
    except NotRead:
        return ""
