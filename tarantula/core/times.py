"""Parse and format dates, durations, periods and time zones as people write them; a clock that ignores short jumps."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from tarantula.core.messages import Message, did_you_mean

PERIODS = ("once", "hourly", "daily", "weekly", "monthly", "yearly")
CRON_FIELDS = 5
ALLOWED_YEARS = range(1990, 3000)

SECONDS_PER_UNIT = {"w": 604_800, "d": 86_400, "h": 3600, "m": 60, "s": 1, "": 1}
LONGEST_DURATION = timedelta(days=36_500)
LOCALTIME_FILE = Path("/etc/localtime")

_DURATION = re.compile(r"(?:\d{1,12}[wdhms])+|\d{1,12}", re.IGNORECASE | re.ASCII)
_PART = re.compile(r"(\d+)([wdhms]?)", re.IGNORECASE | re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEKDAY_RANGE = re.compile(r"(?:\*|([0-7])(?:-([0-7]))?)(?:/([1-7]))?")
logger = logging.getLogger(__name__)

JUMP_SECONDS = 30.0
"""A smaller change of the wall clock, as by NTP, is followed at once."""
CONFIRM_SECONDS = 600.0
"""Time after which a wall clock that has jumped is believed, unless it jumped again or was set back."""


def parse_duration(value: object) -> int | None:
    """Return the seconds of a duration such as ``10d``, ``3h``, ``1h30m`` or ``90``; ``None`` for an empty value."""
    text = str(value).strip() if value is not None else ""
    if not text:
        return None
    if not _DURATION.fullmatch(text):
        raise ValueError(
            Message(
                "{text!r} is not a duration. Write it as 10d, 3h, 90m, 1h30m or a number of seconds.", text=text[:40]
            )
        )
    seconds = sum(int(number) * SECONDS_PER_UNIT[unit.lower()] for number, unit in _PART.findall(text))
    if not 0 < seconds <= LONGEST_DURATION.total_seconds():
        raise ValueError(
            Message("A duration must be more than 0 seconds and less than a century; {text!r} is not.", text=text[:40])
        )
    return seconds


def format_duration(seconds: int) -> str:
    """Format seconds as `parse_duration` reads them: ``10d``, ``1h30m``."""
    parts = []
    for unit in "dhms":
        number, seconds = divmod(seconds, SECONDS_PER_UNIT[unit])
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts)


def parse_moment(value: object, zone: tzinfo | None = None) -> datetime | None:
    """Parse ``2026-06-12 22:00``, in *zone* (by default this machine's) unless it has an offset; ``None`` if empty."""
    if value is None or value == "":
        return None
    moment = value if isinstance(value, date) else _read_moment(str(value).strip())
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time_of_day())
    if moment.year not in ALLOWED_YEARS:
        raise ValueError(Message("The year {year} is too far away.", year=moment.year))
    # A stored value keeps its offset from UTC, not the rules of its zone; the same here, so that both are equal.
    return datetime.fromisoformat((moment if moment.tzinfo else _local(moment, zone)).isoformat())


def parse_period(value: object) -> str:
    """Return a valid period: one of the named ones, or a cron line of five fields."""
    text = " ".join(str(value).split())
    if text.lower() in PERIODS:
        return text.lower()
    if len(text.split()) != CRON_FIELDS:
        raise ValueError(
            Message(
                "{text!r} is not a period. Choose {periods}, or write a cron line.",
                text=text[:40],
                periods=", ".join(PERIODS),
            )
        )
    try:
        trigger = cron_trigger(text, UTC)
    except (ValueError, KeyError) as error:
        raise ValueError(
            Message("The cron line {text!r} cannot be read: {error}.", text=text[:60], error=error)
        ) from error
    if trigger.get_next_fire_time(None, datetime.now(UTC)) is None:
        raise ValueError(Message("The cron line {text!r} matches no date.", text=text[:60]))
    return text


def cron_trigger(line: str, zone: tzinfo) -> Any:
    """Return APScheduler's trigger for a cron line, in which 0 and 7 are Sunday as in cron."""
    from apscheduler.triggers.cron import CronTrigger

    *others, weekdays = line.split()
    named = ",".join(_named_weekdays(part) for part in weekdays.lower().split(","))
    return CronTrigger.from_crontab(" ".join([*others, named]), timezone=zone)


def _named_weekdays(part: str) -> str:
    """Replace numbers of weekdays by names: cron counts from Sunday, APScheduler from Monday."""
    for number, name in enumerate(_WEEKDAYS):
        part = part.replace(name, str(number))
    match = _WEEKDAY_RANGE.fullmatch(part)
    if match is None:
        return part
    first, last = int(match[1] or 0), int(match[2] or match[1] or 6)
    days = range(first, last + 1 if last >= first else last + 8, int(match[3] or 1))
    return ",".join(_WEEKDAYS[day % 7] for day in days)


def _read_moment(text: str) -> datetime:
    day = _DAY.match(text)
    if day is None:
        raise ValueError(Message("{text!r} is not a date. Write it as 2026-06-12 22:00.", text=text[:40]))
    try:
        date.fromisoformat(day[0])
    except ValueError as error:
        raise ValueError(Message("There is no {day} in the calendar.", day=day[0])) from error
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            Message("{rest!r} is not an hour. Write it as 2026-06-12 22:00.", rest=text[day.end() :].strip()[:40])
        ) from error


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    aware = moment.replace(tzinfo=zone or local_zone())
    if aware.astimezone(UTC).astimezone(aware.tzinfo).replace(tzinfo=None, fold=0) != moment.replace(fold=0):
        raise ValueError(
            Message("The time {moment:%Y-%m-%d %H:%M} does not exist here: the clocks skip that hour.", moment=moment)
        )
    return aware


def parse_zone(value: object) -> str:
    """Return a valid name of a time zone, such as Europe/Lisbon; an empty string means the installation's."""
    name = str(value or "").strip()
    if name and _zone(name) is None:
        near = did_you_mean(name, available_timezones()) or " Write it as Europe/Lisbon."
        raise ValueError(Message("{name!r} is not a time zone.{hint}", name=name[:40], hint=near))
    return name


def zone_named(name: str) -> tzinfo:
    """Return a zone by name; without a name the installation's, or else this machine's."""
    return _zone(name or os.environ.get("TARANTULA_TIMEZONE", "")) or local_zone()


def local_zone() -> tzinfo:
    """Return this machine's zone: from TZ, from /etc/localtime, or UTC."""
    if zone := _zone(os.environ.get("TZ", "").lstrip(":")):
        return zone
    try:
        with LOCALTIME_FILE.open("rb") as rules:
            return ZoneInfo.from_file(rules, key="localtime")
    except (OSError, ValueError):
        return UTC


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def boot_seconds() -> float:
    """Return the seconds since the machine was started; they include the time for which it was asleep."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SteadyClock:
    """The time of a wall clock that may be set while the process runs.

    After a jump it continues from the time before, by the seconds since the machine was started. A wrong clock that is
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
