"""Due times of a publication: pure functions of its period, first date and time zone.

Days, weeks, months and years are counted on the wall clock of the zone: 22:00 stays 22:00 when daylight saving time
begins or ends. A time that the clock skips falls on the moment of the skip; a time that it shows twice falls on the
first one. In months that are too short the last day is used. Only `hourly` counts elapsed hours.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import count
from typing import Any

from tarantula.core.times import cron_trigger

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
LOOKBACKS = (HOUR, timedelta(days=1), timedelta(days=31), timedelta(days=366))
"""Spans before *until* in which the latest due time is searched, shortest first: a cron line may fire every minute."""

_cron = lru_cache(maxsize=1024)(cron_trigger)


@dataclass(frozen=True, slots=True)
class PublicationSchedule:
    """Period, first date and time zone of a publication."""

    every: str
    start: datetime | None
    zone: tzinfo
    created_at: datetime
    """When the publication was created; a period without a start begins there."""

    @property
    def begin(self) -> datetime:
        """First possible due time."""
        # In UTC, because Python's arithmetic within a zone follows the wall clock.
        return (self.start or self.created_at.replace(microsecond=0)).astimezone(UTC)


def next_due(schedule: PublicationSchedule, after: datetime | None) -> datetime | None:
    """Return the first due time after *after*, or the first of all if that is ``None``."""
    if schedule.every == "once":
        return _once_due(schedule, after)
    after = after.astimezone(UTC) if after else None
    if after is None or after < schedule.begin:
        after = schedule.begin - SECOND
    if schedule.every == "hourly":
        return schedule.begin + (after - schedule.begin) // HOUR * HOUR + HOUR
    moments = _named_dues(schedule, after) if schedule.every in _STEPS else _cron_dues(schedule, after)
    return next((moment for moment in moments if moment > after and moment >= schedule.begin), None)


def latest_due(schedule: PublicationSchedule, after: datetime | None, until: datetime) -> datetime | None:
    """Return the last due time after *after* and not after *until*, or ``None``."""
    found = next_due(schedule, after)
    if found is None or found > until:
        return None
    for back in LOOKBACKS:
        near = next_due(schedule, until - back)
        if near is not None and near <= until:
            found = max(found, near)
            break
    while (later := next_due(schedule, found)) is not None and later <= until:
        found = later
    return found


def wall_clock_to_utc(wall: datetime, zone: tzinfo) -> datetime:
    """Return the first time at which the clocks of a zone show *wall*, or the moment at which they skip it."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if _wall(moment, zone) == wall:
        return moment
    # PEP 495: within a gap, fold=1 applies the offset after it, which gives a time before the gap.
    before, after_gap = wall.replace(tzinfo=zone, fold=1).astimezone(UTC), moment
    while after_gap - before > SECOND:
        middle = before + (after_gap - before) // 2
        if _wall(middle, zone) < wall:
            before = middle
        else:
            after_gap = middle
    return after_gap.replace(microsecond=0)


def _once_due(schedule: PublicationSchedule, after: datetime | None) -> datetime | None:
    # Without a first date there is no due time: it is collected on request.
    if schedule.start is None or (after is not None and schedule.begin <= after):
        return None
    return schedule.begin


def _named_dues(schedule: PublicationSchedule, after: datetime) -> Iterator[datetime]:
    first = _wall(schedule.begin, schedule.zone)
    step, index = _STEPS[schedule.every]
    for number in count(max(index(first, _wall(after, schedule.zone)) - 1, 0)):
        yield wall_clock_to_utc(step(first, number), schedule.zone) if number else schedule.begin


def _cron_dues(schedule: PublicationSchedule, after: datetime) -> Iterator[datetime]:
    # Treat the wall clock as UTC, which has no gaps.
    trigger = _cron(schedule.every, UTC)
    wall: Any = _wall(after, schedule.zone).replace(tzinfo=UTC)
    while (wall := trigger.get_next_fire_time(None, wall)) is not None:
        yield wall_clock_to_utc(wall.replace(tzinfo=None), schedule.zone)
        wall += SECOND


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _months_later(first: datetime, months: int) -> datetime:
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return first.replace(year=year, month=month + 1, day=min(first.day, monthrange(year, month + 1)[1]))


def _months(first: datetime, now: datetime) -> int:
    return (now.year - first.year) * 12 + now.month - first.month


_STEPS: dict[str, tuple[Callable[[datetime, int], datetime], Callable[[datetime, datetime], int]]] = {
    "daily": (lambda first, number: first + timedelta(days=number), lambda first, now: (now - first).days),
    "weekly": (lambda first, number: first + timedelta(weeks=number), lambda first, now: (now - first).days // 7),
    "monthly": (_months_later, _months),
    "yearly": (lambda first, number: _months_later(first, 12 * number), lambda first, now: now.year - first.year),
}
"""For each named period: the time after a number of steps, and the approximate number of steps until now."""
