"""How often there was which value, as long as there are not too many different ones."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from tarantula.streams.history.summary_part_numbers import exact

Counts = Mapping[str, int]

MOST_VALUES = 200
"""Different ones; if there are more, they are counted from below when somebody asks."""
MOST_LETTERS = 8000
"""Of all of them together."""


def fits(counts: Counts) -> bool:
    """Whether there are few enough different values to keep. More values never fit where fewer did not."""
    return len(counts) <= MOST_VALUES and sum(map(len, counts)) <= MOST_LETTERS


def joined(parts: Iterable[Counts | None]) -> Counter[str] | None:
    """Add counts up; nothing if one is not known."""
    whole = Counter[str]()
    for part in parts:
        if part is None:
            return None
        for value, number in part.items():
            whole[value] += number
    return whole


def most_frequent(counts: Counts) -> str:
    """Return the value that there was most often; of several, the least."""
    most = max(counts.values())
    return min((value for value, number in counts.items() if number == most), key=_order)


def packed(counts: Counts | None) -> bytes | None:
    """Write counts for the database; nothing if there are too many."""
    if counts is None or not fits(counts):
        return None
    return zlib.compress(
        json.dumps(dict(sorted(counts.items())), ensure_ascii=False, separators=(",", ":")).encode(), 1
    )


def unpacked(data: bytes | None) -> Counts | None:
    """Read what `packed` wrote."""
    if data is None:
        return None
    read: dict[str, int] = json.loads(zlib.decompress(data))
    return read


def _order(value: str) -> tuple[Decimal, str]:
    return exact(value) or Decimal(0), value
