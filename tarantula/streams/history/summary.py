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


ValueCounts = Mapping[str, int]

MAX_DISTINCT_VALUES = 200
"""Different ones; if there are more, they are counted from below when somebody asks."""
MAX_COUNTED_CHARS = 8000
"""Of all of them together."""


def can_store_counts(counts: ValueCounts) -> bool:
    """Whether there are few enough different values to keep. More values never fit where fewer did not."""
    return len(counts) <= MAX_DISTINCT_VALUES and sum(map(len, counts)) <= MAX_COUNTED_CHARS


def join_counts(parts: Iterable[ValueCounts | None]) -> Counter[str] | None:
    """Add counts up; nothing if one is not known."""
    whole = Counter[str]()
    for part in parts:
        if part is None:
            return None
        for value, number in part.items():
            whole[value] += number
    return whole


def most_frequent_value(counts: ValueCounts) -> str:
    """Return the value that there was most often; of several, the least."""
    most = max(counts.values())
    return min((value for value, number in counts.items() if number == most), key=_order)


def pack_counts(counts: ValueCounts | None) -> bytes | None:
    """Write counts for the database; nothing if there are too many."""
    if counts is None or not can_store_counts(counts):
        return None
    return zlib.compress(
        json.dumps(dict(sorted(counts.items())), ensure_ascii=False, separators=(",", ":")).encode(), 1
    )


def unpack_counts(data: bytes | None) -> ValueCounts | None:
    """Read what `packed` wrote."""
    if data is None:
        return None
    read: dict[str, int] = json.loads(zlib.decompress(data))
    return read


def _order(value: str) -> tuple[Decimal, str]:
    return exact_number(value) or Decimal(0), value


@dataclass(slots=True)
class ValueSummary:
    """What is known of some values that follow one another."""

    count: int
    sum: Decimal | None
    """``None``, as the two that follow, if one of them is no number."""
    minimum: str | None
    maximum: str | None
    first: str
    last: str
    counts: ValueCounts | None
    """How often there was which value; ``None`` if there were too many, or nobody asked."""

    @property
    def average(self) -> Decimal | None:
        """The exact sum divided by the count, to 34 digits."""
        return None if self.sum is None else divide_rounded(self.sum, self.count)

    @property
    def mode(self) -> str | None:
        """The value that there was most often; of several, the least."""
        return None if self.counts is None else most_frequent_value(self.counts)

    def value(self, aggregation: Aggregation) -> str | None:
        """Return the value that stands for all of them; nothing if that is not known."""
        match aggregation:
            case Aggregation.SUM:
                return None if self.sum is None else format_number(self.sum)
            case Aggregation.AVERAGE:
                return None if self.sum is None else format_number(divide_rounded(self.sum, self.count))
            case Aggregation.COUNT:
                return str(self.count)
            case _:
                found: str | None = getattr(self, aggregation.value)
                return found


def summarize_value(value: str, counting: bool = True) -> ValueSummary:
    """Sum up one value."""
    number = exact_number(value)
    counts = {value: 1} if counting else None
    if number is None:
        return ValueSummary(1, None, None, None, value, value, counts)
    return ValueSummary(1, number, value, value, value, value, counts)


def summarize_values(values: Sequence[str]) -> ValueSummary:
    """Sum up values that follow one another, one at least."""
    numbers = [number for number in map(exact_number, values) if number is not None]
    counts = Counter(values)
    if len(numbers) < len(values):
        return ValueSummary(len(values), None, None, None, values[0], values[-1], counts)
    least, most = values[numbers.index(min(numbers))], values[numbers.index(max(numbers))]
    return ValueSummary(len(values), add_exact(numbers), least, most, values[0], values[-1], counts)


def merge_summaries(parts: Sequence[ValueSummary], counting: bool = True) -> ValueSummary:
    """Sum up what was summed up, part after part, one at least."""
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
