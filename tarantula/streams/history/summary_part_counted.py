"""How often there was which value, as long as there are not too many different ones."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from tarantula.streams.history.summary_part_numbers import exact_number

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
