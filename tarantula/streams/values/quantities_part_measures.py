"""What a number counts, by what stands beside it: a share, a currency, a unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.normalization import normalize_text, quote_text
from tarantula.streams.values.numbers_part_multipliers import split_multiplier
from tarantula.streams.values.numerals import Numeral, find_numeral
from tarantula.streams.values.units import split_unit
from tarantula.streams.values.value import ValueParseError

_ENDS = re.compile(r"[\s.,;:)*!]*")
_ORDINAL = re.compile(r"(?:\.?\s?[ºª](?!\s?[CFKcf]\b)|st|nd|rd|th|er|ère|[eè]me|e|nde?|te[rn]?)(?![^\W_])")


def check_no_ordinal(found: Numeral) -> None:
    """Say that a number is a place in an order, if it is."""
    alone = not found.before and found.after.strip() == "."
    if _ORDINAL.match(found.after) or alone:
        raise ValueParseError(
            f"{quote_text(found.body + found.after)} is a place in an order, which is text. "
            "A regular expression can choose its digits."
        )


def measure_beside(found: Numeral) -> str:
    """Return the currency or the unit that is named right beside a number, or nothing."""
    _, after = split_multiplier(found.after, ValueKind.DECIMAL)
    for currency in (currencies.currency_at_end(found.before)[0], currencies.currency_at_start(after)[0]):
        if currency is not None:
            return currency.codes[0]
    unit, rest = split_unit(after)
    return unit if _ENDS.fullmatch(rest) else ""


def check_same_measure(found: Numeral, history: Sequence[str]) -> str:
    """Return what is named beside a number, or say that the numbers before it counted something else."""
    named = measure_beside(found) if found.after or found.before else ""
    if named:
        before = {earlier for text in history if (earlier := _measure_of(text))}
        if before and named not in before:
            raise ValueParseError(f"It is in {named}, and those before it are in {', '.join(sorted(before))}.")
    return named


@lru_cache(16384)
def _measure_of(text: str) -> str:
    try:
        return measure_beside(find_numeral(normalize_text(text)))
    except ValueParseError:
        return ""
