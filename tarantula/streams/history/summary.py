"""Exact summaries of consecutive values: decimal sums, counts of distinct values, minimum, maximum, first, last."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache, reduce

from tarantula.streams.kinds import Aggregation

MAX_NUMBER_CHARS = 1000
"""Longer strings of digits are texts, not numbers."""
EXACT_CONTEXT = Context(prec=100_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])
"""Raises instead of rounding."""
AVERAGE_CONTEXT = Context(prec=34, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Averages are rounded to 34 digits."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
ValueCounts = Mapping[str, int]
MAX_DISTINCT_VALUES = 200
"""With more distinct values, counts are not stored but computed from the level below."""
MAX_COUNTED_CHARS = 8000
"""Total length of the distinct values."""


@lru_cache(4096)
def exact_number(text: str) -> Decimal | None:
    """Return the exact number that a value is; ``None`` if it is not a number."""
    return Decimal(text) if len(text) <= MAX_NUMBER_CHARS and _NUMBER.fullmatch(text) else None


def add_exact(numbers: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of at least one number."""
    return reduce(EXACT_CONTEXT.add, numbers)


def divide_rounded(number: Decimal, by: int) -> Decimal:
    """Divide, rounding to 34 digits."""
    return AVERAGE_CONTEXT.divide(number, Decimal(by))


def format_number(number: Decimal) -> str:
    """Return the canonical text of a number: no exponent, no trailing zeros."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def can_store_counts(counts: ValueCounts) -> bool:
    """Whether counts are small enough to store. If a part does not fit, the whole does not either."""
    return len(counts) <= MAX_DISTINCT_VALUES and sum(map(len, counts)) <= MAX_COUNTED_CHARS


def join_counts(parts: Iterable[ValueCounts | None]) -> Counter[str] | None:
    """Return the sum of counts; ``None`` if one is unknown."""
    whole = Counter[str]()
    for part in parts:
        if part is None:
            return None
        for value, number in part.items():
            whole[value] += number
    return whole


def most_frequent_value(counts: ValueCounts) -> str:
    """Return the most frequent value; of equally frequent ones, the smallest."""
    most = max(counts.values())
    return min((value for value, number in counts.items() if number == most), key=_order)


def pack_counts(counts: ValueCounts | None) -> bytes | None:
    """Return counts as compressed JSON; ``None`` if they are unknown or too large."""
    if counts is None or not can_store_counts(counts):
        return None
    return zlib.compress(
        json.dumps(dict(sorted(counts.items())), ensure_ascii=False, separators=(",", ":")).encode(), 1
    )


def unpack_counts(data: bytes | None) -> ValueCounts | None:
    """Return the counts that `pack_counts` stored."""
    if data is None:
        return None
    read: dict[str, int] = json.loads(zlib.decompress(data))
    return read


def _order(value: str) -> tuple[Decimal, str]:
    return exact_number(value) or Decimal(0), value


@dataclass(slots=True)
class ValueSummary:
    """Summary of consecutive values."""

    count: int
    sum: Decimal | None
    """Sum, minimum and maximum are ``None`` if any value is not a number."""
    minimum: str | None
    maximum: str | None
    first: str
    last: str
    counts: ValueCounts | None
    """Number of occurrences by value; ``None`` if unknown or too many."""

    @property
    def average(self) -> Decimal | None:
        """Exact sum divided by the count, rounded to 34 digits."""
        return None if self.sum is None else divide_rounded(self.sum, self.count)

    @property
    def mode(self) -> str | None:
        """Most frequent value; of equally frequent ones, the smallest."""
        return None if self.counts is None else most_frequent_value(self.counts)

    def value(self, aggregation: Aggregation) -> str | None:
        """Return the aggregated value; ``None`` if unknown."""
        match aggregation:
            case Aggregation.SUM:
                return None if self.sum is None else format_number(self.sum)
            case Aggregation.AVERAGE:
                return None if self.sum is None else format_number(divide_rounded(self.sum, self.count))
            case Aggregation.COUNT:
                return str(self.count)
            case _:
                value: str | None = getattr(self, aggregation.value)
                return value


def summarize_value(value: str, counting: bool = True) -> ValueSummary:
    number = exact_number(value)
    counts = {value: 1} if counting else None
    if number is None:
        return ValueSummary(1, None, None, None, value, value, counts)
    return ValueSummary(1, number, value, value, value, value, counts)


def summarize_values(values: Sequence[str]) -> ValueSummary:
    """Return the summary of at least one value."""
    numbers = [number for number in map(exact_number, values) if number is not None]
    counts = Counter(values)
    if len(numbers) < len(values):
        return ValueSummary(len(values), None, None, None, values[0], values[-1], counts)
    least, most = values[numbers.index(min(numbers))], values[numbers.index(max(numbers))]
    return ValueSummary(len(values), add_exact(numbers), least, most, values[0], values[-1], counts)


def merge_summaries(parts: Sequence[ValueSummary], counting: bool = True) -> ValueSummary:
    """Return the summary of at least one consecutive summary."""
    if len(parts) == 1:
        return parts[0]
    count = sum([part.count for part in parts])
    counts = join_counts(part.counts for part in parts) if counting else None
    first, last = parts[0].first, parts[-1].last
    sums = [part.sum for part in parts if part.sum is not None]
    if len(sums) < len(parts):
        return ValueSummary(count, None, None, None, first, last, counts)
    least, most = _extreme(min, [part.minimum for part in parts]), _extreme(max, [part.maximum for part in parts])
    return ValueSummary(count, add_exact(sums), least, most, first, last, counts)


def _extreme(choose: Callable[[list[Decimal]], Decimal], texts: Sequence[str | None]) -> str | None:
    numbers = [Decimal(text) for text in texts if text is not None]
    return texts[numbers.index(choose(numbers))]
