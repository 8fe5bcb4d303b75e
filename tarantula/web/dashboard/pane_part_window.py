"""The stretch of time that a view shows: it follows the present, or stands where somebody dragged it."""

from __future__ import annotations

from time import time

MICROSECONDS = 1_000_000
ZOOM_FACTOR = 2.0
MOVE_FRACTION = 0.5
"""By how much of itself a window moves at once."""
SHORTEST, LONGEST = 10.0, 36525 * 86400.0


class TimeWindow:
    """From when to when, in microseconds since 1970."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end: int | None = None

    @property
    def follows(self) -> bool:
        """Whether it moves with the present."""
        return self._end is None

    @property
    def end(self) -> int:
        """Where it ends."""
        return self._end if self._end is not None else now_microseconds()

    @property
    def span(self) -> tuple[int, int]:
        """Where it begins and ends, at the same present."""
        end = self.end
        return max(end - int(self.seconds * MICROSECONDS), 0), end

    def drag(self, begin: int, end: int) -> None:
        """Be where somebody dragged it; at the present it follows again."""
        self.seconds = min(max((end - begin) / MICROSECONDS, SHORTEST), LONGEST)
        self._end = None if end >= now_microseconds() else max(end, int(self.seconds * MICROSECONDS))

    def move(self, windows: float) -> None:
        """Go back or forth."""
        end = self.end + int(windows * self.seconds * MICROSECONDS)
        self.drag(end - int(self.seconds * MICROSECONDS), end)

    def zoom(self, by: float) -> None:
        """Show more, or less, around the middle; where it follows, up to the present."""
        self.seconds = min(max(self.seconds * by, SHORTEST), LONGEST)

    def follow(self) -> None:
        """Move with the present again."""
        self._end = None


def now_microseconds() -> int:
    """Return the present."""
    return int(time() * MICROSECONDS)
