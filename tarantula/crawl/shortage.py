"""Shortage of open files, ports, processes or memory on this machine: fewer or no requests until it is over."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from tarantula.core.process import available_memory
from tarantula.core.reasons import Reason
from tarantula.core.states import Shortage
from tarantula.fetch.exchange import LocalResourceError

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 30.0
"""Seconds without new requests after a connection could not be opened: at first, and at most."""


class ResourceShortage:
    """Limit of requests at a time, which is halved with each shortage and rises again with each response.

    A shortage is one episode in the log, however many requests it affects: one line when it begins, one when the limit
    is back at *most*.
    """

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self.limit = self._most = most
        """Requests that may be open at a time."""
        self.cause: Shortage | None = None
        """The present shortage."""
        self._clock = clock
        self._pause = FIRST_PAUSE_SECONDS
        self._resume_at = 0.0

    @property
    def is_on(self) -> bool:
        """Whether there is a shortage."""
        return self.cause is not None

    @property
    def is_pausing(self) -> bool:
        """Whether no request may be sent now."""
        return self.is_on and self._clock() < self._resume_at

    def began(self, error: LocalResourceError, active: int) -> float:
        """Record that one of *active* requests failed; return the seconds until the next may be sent."""
        now = self._clock()
        if not self.is_on:
            logger.warning("%s Requests pause meanwhile; no document is lost.", error.reason)
            self._pause = FIRST_PAUSE_SECONDS
        elif now >= self._resume_at:
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
        self.cause = error.shortage
        if now >= self._resume_at:
            # Requests that fail during the pause were sent before it.
            self.limit, self._resume_at = max(min(self.limit, active) // 2, 1), now + self._pause
        return self._resume_at - now

    def answered(self) -> None:
        """Record a response during a shortage."""
        self.limit = min(self.limit + 1, self._most)
        if self.limit == self._most:
            self.cause = None
            logger.warning("Connections can be opened again; requests continue as before.")


MEMORY_CHECK_SECONDS = 0.5
RESUME_FACTOR = 1.5
"""Available memory at which requests continue, as a multiple of that at which they stop."""
MEGABYTE = 1_000_000


class MemoryWatch:
    """Watches the available memory: it is low below *minimum* megabytes, until it is half as much again."""

    def __init__(
        self,
        minimum: int,
        available: Callable[[], int | None] = available_memory,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.is_low = False
        self._minimum = minimum
        self._available = available
        self._clock = clock
        self._next_check = 0.0 if minimum else float("inf")

    def has_changed(self) -> bool:
        """Read the available memory if it is time to; return whether `is_low` has changed, after a line in the log."""
        if self._clock() < self._next_check:
            return False
        self._next_check = self._clock() + MEMORY_CHECK_SECONDS
        available = self._available()
        limit = self._minimum * (RESUME_FACTOR if self.is_low else 1.0) * MEGABYTE
        was_low, self.is_low = self.is_low, available is not None and available < limit
        if self.is_low and not was_low:
            reason = Reason.of("memory_low", available=(available or 0) // MEGABYTE, limit=self._minimum)
            logger.warning("%s Requests pause meanwhile; no document is lost.", reason)
        elif was_low and not self.is_low:
            logger.warning("There is enough memory again; requests continue as before.")
        return self.is_low is not was_low
