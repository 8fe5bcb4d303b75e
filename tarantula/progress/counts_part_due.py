"""Something that is done again and again, but never takes more than a small part of the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic

PAUSE_FACTOR = 100
"""What took a second is done again after as many seconds."""


class DutyCycle:
    """Knows when something is to be done again; *at_least* so many seconds later.

    *at_most* is for what is quick by itself, and takes long only when others are busy.
    """

    def __init__(self, at_least: float = 0.0, at_most: float = inf) -> None:
        self._at_least = at_least
        self._at_most = at_most
        self._next = 0.0

    def is_now(self) -> bool:
        """Whether its time has come."""
        return monotonic() >= self._next

    @contextmanager
    def doing(self) -> Iterator[None]:
        """Do it, and see how long it takes."""
        began = monotonic()
        yield
        took = monotonic() - began
        self._next = began + took + min(max(took * PAUSE_FACTOR, self._at_least), self._at_most)
