"""A clock that ignores jumps of the wall clock until they have lasted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

logger = logging.getLogger(__name__)

JUMP_SECONDS = 30.0
"""A smaller change of the wall clock, as by NTP, is followed at once."""
CONFIRM_SECONDS = 600.0
"""Time after which a wall clock that has jumped is believed, unless it jumped again or was set back."""


def boot_seconds() -> float:
    """Return the seconds since the machine was started; they include the time for which it was asleep."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SteadyClock:
    """The time of a wall clock that may be set while the process runs.

    After a jump it goes on from the time before, by the seconds since the machine was started. A wrong clock that is
    corrected within `CONFIRM_SECONDS` has no effect; a jump that lasts is followed then. Both are logged.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = boot_seconds,
        name: str = "The clock of this machine",
    ) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._name = name
        self._offset = wall() - elapsed()
        self._new_offset = self._offset
        self._jumped_at: float | None = None

    @property
    def has_jumped(self) -> bool:
        """Whether the wall clock differs from this one."""
        return self._jumped_at is not None

    def time(self) -> float:
        """Return the seconds since 1970."""
        elapsed = self._elapsed()
        offset = self._wall() - elapsed
        if abs(offset - self._offset) < JUMP_SECONDS:
            self._follow(offset)
        elif self._jumped_at is None or abs(offset - self._new_offset) >= JUMP_SECONDS:
            self._new_offset, self._jumped_at = offset, elapsed
            logger.warning(
                "%s jumped by %s; the time before the jump counts for another %g minutes.",
                self._name,
                _signed(offset - self._offset),
                CONFIRM_SECONDS / 60,
            )
        elif elapsed - self._jumped_at >= CONFIRM_SECONDS:
            logger.warning("%s is believed from now on: %s.", self._name, _moment(offset + elapsed))
            self._offset, self._jumped_at = offset, None
        return self._offset + elapsed

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return _moment(self.time())

    def _follow(self, offset: float) -> None:
        if self._jumped_at is not None:
            logger.warning("%s was set back to the time before the jump.", self._name)
        self._offset, self._jumped_at = offset, None


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{timedelta(seconds=round(abs(seconds)))}"
