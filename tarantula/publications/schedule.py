"""When a publication is due: pure functions of its period, its first date and its time zone.

Days, weeks, months and years are counted on the clock of the zone: 22:00 stays 22:00 when the
clocks change. An hour that the clocks skip comes at the moment at which they skip it, an hour
that they show twice the first time. Months that are too short have it on their last day. Only
`hourly` counts hours that passed, whatever the clocks show.
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
"""How far the latest due time is looked for, nearest first: a period of minutes has many in a year."""

_cron = lru_cache(maxsize=1024)(cron_trigger)


@dataclass(frozen=True, slots=True)
class PublicationSchedule:
    """What decides when a publication is due."""

    every: str
    start: datetime | None
    zone: tzinfo
    described_at: datetime
    """When it was described: a period without a start begins there."""

    @property
    def begin(self) -> datetime:
        """The first moment at which it can be due."""
        # In UTC: arithmetic within a zone of Python's is that of its clocks.
        return (self.start or self.described_at.replace(microsecond=0)).astimezone(UTC)


def next_due(plan: PublicationSchedule, after: datetime | None) -> datetime | None:
    """Return the first due time that is later than *after*, or the first of all."""
    if plan.every == "once":
        return _once(plan, after)
    after = after.astimezone(UTC) if after else None
    if after is None or after < plan.begin:
        after = plan.begin - SECOND
    if plan.every == "hourly":
        return plan.begin + (after - plan.begin) // HOUR * HOUR + HOUR
    moments = _named(plan, after) if plan.every in _STEPS else _by_cron(plan, after)
    return next((moment for moment in moments if moment > after and moment >= plan.begin), None)


def latest_due(plan: PublicationSchedule, after: datetime | None, until: datetime) -> datetime | None:
    """Return the last due time that is later than *after* and not later than *until*, if there is one."""
    found = next_due(plan, after)
    if found is None or found > until:
        return None
    for back in LOOKBACKS:
        near = next_due(plan, until - back)
        if near is not None and near <= until:
            found = max(found, near)
            break
    while (later := next_due(plan, found)) is not None and later <= until:
        found = later
    return found


def wall_clock_to_utc(wall: datetime, zone: tzinfo) -> datetime:
    """Return when the clocks of a zone show *wall*: the first time, or when they skip it."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if _wall(moment, zone) == wall:
        return moment
    # PEP 495: with fold=1 the offset behind the gap holds, which leads to before it.
    before, behind = wall.replace(tzinfo=zone, fold=1).astimezone(UTC), moment
    while behind - before > SECOND:
        middle = before + (behind - before) // 2
        if _wall(middle, zone) < wall:
            before = middle
        else:
            behind = middle
    return behind.replace(microsecond=0)


def _once(plan: PublicationSchedule, after: datetime | None) -> datetime | None:
    # Without a first date nobody said when: it is collected when somebody asks for it.
    if plan.start is None or (after is not None and plan.begin <= after):
        return None
    return plan.begin


def _named(plan: PublicationSchedule, after: datetime) -> Iterator[datetime]:
    first = _wall(plan.begin, plan.zone)
    step, index = _STEPS[plan.every]
    for number in count(max(index(first, _wall(after, plan.zone)) - 1, 0)):
        yield wall_clock_to_utc(step(first, number), plan.zone) if number else plan.begin


def _by_cron(plan: PublicationSchedule, after: datetime) -> Iterator[datetime]:
    # The wall clock is read as if it were UTC's, which skips nothing.
    trigger = _cron(plan.every, UTC)
    wall: Any = _wall(after, plan.zone).replace(tzinfo=UTC)
    while (wall := trigger.get_next_fire_time(None, wall)) is not None:
        yield wall_clock_to_utc(wall.replace(tzinfo=None), plan.zone)
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
"""How to go on from the first time, and about how many steps lie behind."""
