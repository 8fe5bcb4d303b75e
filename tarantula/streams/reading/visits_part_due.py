"""When sources are due: at fixed moments, whatever happened in between.

A source is due at every multiple of its interval, moved by an offset that its address gives. So
nothing drifts, thousands of sources are spread over their interval, and those of the same page
are due together. A reading that is late is made once; those that were missed are not made up for.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from heapq import heappop, heappush
from typing import Generic, TypeVar

MICROSECONDS_PER_SECOND = 1_000_000
"""Microseconds."""
LATE_READINGS_PER_SECOND = 100
"""Sources that are late at the start are read at this many a second, at most."""

T = TypeVar("T")


def next_due(address: str, interval: float, after: int) -> int:
    """Return the first moment after another, in microseconds since 1970, at which a source is due."""
    step = round(interval * MICROSECONDS_PER_SECOND)
    offset = int.from_bytes(blake2b(address.encode(), digest_size=8).digest()) % step
    return after + step - (after - offset) % step


def spread_late(number: int, now: int, interval: float) -> int:
    """Return when the *number*-th of many late sources is read: soon, but not all of them in the same second."""
    return now + min(
        number * MICROSECONDS_PER_SECOND // LATE_READINGS_PER_SECOND, round(interval * MICROSECONDS_PER_SECOND)
    )


class DueHeap(Generic[T]):
    """What is to happen when, the earliest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, at: int, what: T) -> None:
        """Add something; of two at the same moment, the one that was added first comes first."""
        self._pushed += 1
        heappush(self._heap, (at, self._pushed, what))

    def pop_until(self, now: int) -> Iterator[T]:
        """Take out all that is due."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]

    def first(self) -> int | None:
        """When the first is due."""
        return self._heap[0][0] if self._heap else None
