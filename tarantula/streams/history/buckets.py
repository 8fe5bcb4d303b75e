"""Bucket boundaries (minute, hour, day, month, year) in a time zone; each consists of whole finer buckets.

Minutes are the same in every zone. Hours are those of local time, so that days in zones with half-hour offsets consist
of whole hours; an hour that occurs twice is two buckets. Days begin at midnight, or at the first moment after a clock
change that skips it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo

from tarantula.streams.sources.retention import Grain

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
"""Microseconds."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST_TIME = -62_000_000_000 * SECOND
"""In the year 5: close to the earliest date that Python supports."""
LATEST_TIME = 250_000_000_000 * SECOND
"""In the year 9892."""


class BucketCalendar:
    """Bucket boundaries in one time zone, in microseconds since 1970."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self._hour = lru_cache(4096)(self._find_hour)
        self._begin = lru_cache(4096)(self._find_begin)

    def start_of(self, at: int, grain: Grain) -> int:
        """Return the start of the bucket that contains a moment."""
        if grain is Grain.EVENT:
            return at
        at -= at % MINUTE
        if grain is Grain.MINUTE:
            return at
        if grain is Grain.HOUR:
            return self._hour(at)
        day = self._first_of(self.local(at).date(), grain)
        later = self._begin(_next(day, grain))
        return later if later <= at else self._begin(day)

    def end_of(self, start: int, grain: Grain) -> int:
        """Return the end of the bucket that starts at *start*."""
        if grain is Grain.EVENT:
            return start + 1
        if grain is Grain.MINUTE:
            return start + MINUTE
        if grain is Grain.HOUR:
            end = start + HOUR - self.local(start).minute * MINUTE
            last = self._hour(end - MINUTE)
            return end if last == start else last
        return self._begin(_next(self._first_of(self.local(start).date(), grain), grain))

    def starts(self, begin: int, end: int, grain: Grain) -> Iterator[int]:
        """Yield the starts of the buckets that overlap a window."""
        start = self.start_of(begin, grain)
        while start < end:
            yield start
            start = self.end_of(start, grain)

    def local(self, at: int) -> datetime:
        """Return the local time, to the minute."""
        return (moment_of(at) + self._offset(at)).replace(tzinfo=None)

    def _offset(self, at: int) -> timedelta:
        return _whole_minutes(moment_of(at).astimezone(self.zone).utcoffset())

    def _find_hour(self, at: int) -> int:
        start = at - self.local(at).minute * MINUTE
        offset = self._offset(at)
        if self._offset(start) == offset:
            return start
        # A clock change within this hour starts a new bucket.
        while self._offset(at - MINUTE) == offset:
            at -= MINUTE
        return at

    def _find_begin(self, day: date) -> int:
        midnight = datetime.combine(day, time(), self.zone)
        offset = midnight.utcoffset()
        return _microseconds(midnight.astimezone(UTC) + ((offset or timedelta()) - _whole_minutes(offset)))

    def _first_of(self, day: date, grain: Grain) -> date:
        if grain is Grain.DAY:
            return day
        return day.replace(day=1) if grain is Grain.MONTH else day.replace(month=1, day=1)


@cache
def calendar_of(zone: str) -> BucketCalendar:
    return BucketCalendar(ZoneInfo(zone))


def moment_of(at: int) -> datetime:
    """Return a time in microseconds since 1970 as a datetime in UTC."""
    return EPOCH + timedelta(microseconds=at)


def _microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _whole_minutes(offset: timedelta | None) -> timedelta:
    """Return an offset from UTC without its seconds, which offsets had until the 20th century."""
    return timedelta(minutes=(offset or timedelta()) // timedelta(minutes=1))


def _next(day: date, grain: Grain) -> date:
    if grain is Grain.DAY:
        return day + timedelta(days=1)
    if grain is Grain.MONTH:
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return date(day.year + 1, 1, 1)
