"""Dates and times, as moments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from decimal import Decimal

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.dates import parse_date
from tarantula.streams.values.dates_part_other_languages import parse_other_language
from tarantula.streams.values.moments_part_clocks import TimeOfDay, find_time_of_day
from tarantula.streams.values.moments_part_relative import parse_relative
from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.numbers import canonical_number
from tarantula.streams.values.time_words import DATE_LABELS, NOW_WORDS
from tarantula.streams.values.value import Value, ValueParseError

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)\s?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.IGNORECASE
)
_BASIC_ISO = re.compile(r"(?:19|20)\d{6}(?:T\d{4}(?:\d\d)?(?:Z|[+-]\d{4})?)?")
_EPOCH = re.compile(r"(\d{9,10})(?:\.(\d{1,6}))?|(\d{12,13})|(\d{15,16})")
_FIRST_EPOCH, _LAST_EPOCH = 315532800, 4102444800
"""From 1980 to 2100: other numbers of as many digits are no moments."""


def parse_moment(text: str, history: Sequence[str], now: datetime | None) -> Value:
    """Read a date, a time, or both, as somebody whose clock shows ``now`` would."""
    at = now or datetime.now(UTC)
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    try:
        found = _epoch(text) or _iso(text, at.tzinfo) or _said(text, history, at)
        seconds = found.astimezone(UTC) if found else None
    except (OverflowError, ValueError) as error:
        if isinstance(error, ValueParseError):
            raise
        raise ValueParseError(f"{quote_text(text)} is not a moment that calendars have.") from None
    if seconds is None:
        raise ValueParseError(f"{quote_text(text)} is neither a date nor a time that can be told.")
    return moment_value(seconds)


def moment_value(at: datetime) -> Value:
    """Return a moment as it is kept."""
    since = at.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    number = Decimal(since.days * 86400 + since.seconds) + Decimal(since.microseconds).scaleb(-6)
    return Value(ValueKind.MOMENT, at.astimezone(UTC).isoformat(), Decimal(canonical_number(number)))


def _epoch(text: str) -> datetime | None:
    match = _EPOCH.fullmatch(text)
    if match is None:
        return None
    digits = match[1] or match[3] or match[4]
    whole, rest = (int(digits), 0) if match[1] else divmod(int(digits), 10 ** (3 if match[3] else 6))
    micro = int((match[2] or "").ljust(6, "0")) if match[1] else rest * (1000 if match[3] else 1)
    if not _FIRST_EPOCH <= whole < _LAST_EPOCH:
        return None
    return datetime.fromtimestamp(whole, UTC) + timedelta(microseconds=micro)


def _iso(text: str, zone: tzinfo | None) -> datetime | None:
    if match := _ISO.fullmatch(text):
        written = f"{match[1]}T{(match[2] or '00:00').replace(',', '.')}{(match[3] or '').upper()}"
    elif _BASIC_ISO.fullmatch(text):
        written = text
    else:
        return None
    found = datetime.fromisoformat(written)
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _said(text: str, history: Sequence[str], now: datetime) -> datetime | None:
    text = DATE_LABELS.sub("", text, count=1) if DATE_LABELS.match(text) else text
    if text.casefold().strip(" .!") in NOW_WORDS:
        return now
    if (found := parse_relative(text, now)) is not None:
        return found
    time = find_time_of_day(text)
    if time is None:
        day = parse_date(text, history, now.date())
        return _at(day, None, now) if day else parse_other_language(text, now)
    if not time.rest:
        return _today(time, now)
    zoned = now.astimezone(time.zone) if time.zone else now
    day = parse_date(time.rest, history, zoned.date(), month_first=time.halves)
    return _at(day, time, now) if day else parse_other_language(text, now)


def _at(day: date, time: TimeOfDay | None, now: datetime) -> datetime:
    midnight = time_of_day()
    zone = (time.zone if time else None) or now.tzinfo
    return datetime.combine(day, time.time if time else midnight, tzinfo=zone)


def _today(time: TimeOfDay, now: datetime) -> datetime:
    """Return the moment nearest to now at which clocks show this time."""
    local = now.astimezone(time.zone or now.tzinfo)
    possible = [
        datetime.combine(local.date() + timedelta(days=days), time.time, tzinfo=local.tzinfo) for days in (-1, 0, 1)
    ]
    return min(possible, key=lambda one: abs(one - now))
