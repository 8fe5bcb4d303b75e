"""Values that follow one another, summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tarantula.streams.history.summary_part_counted import ValueCounts, join_counts, most_frequent_value
from tarantula.streams.history.summary_part_numbers import add_exact, divide_rounded, exact_number, format_number
from tarantula.streams.kinds import Aggregation


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
