"""Times of day and time zones, as they stand in a text."""

from __future__ import annotations

import re
from datetime import time, timedelta, timezone, tzinfo
from typing import NamedTuple

from tarantula.streams.values.time_words import ZONE_MINUTES

_ZONE = (
    r"(?:\s?\(?(?P<zone>(?:utc|gmt)\s?[+-]\d{1,2}(?::?\d\d)?|[+-]\d\d:?\d\d|"
    + "|".join(sorted(ZONE_MINUTES, key=len, reverse=True))
    + r")\)?(?![^\W_]))?"
)
_BEGIN = r"(?:(?<=\s)|^|(?<=\dt)|(?<=,)|(?<=\())(?:(?:às|as|at|à|um|pelas|a)\s)?"
_PATTERNS = tuple(
    re.compile(_BEGIN + pattern + _ZONE + r"(?![\w:])", re.IGNORECASE)
    for pattern in (
        r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
        r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?|\s?(?:uhr|hrs?|horas|h)\b)?",
        r"(?P<hour>\d{1,2})\s?h\s?(?P<minute>[0-5]\d)(?:\s?m(?:in)?)?(?:\s?(?P<second>[0-5]\d)\s?s)?",
        r"(?P<hour>\d{1,2})\.(?P<minute>[0-5]\d)\s?(?:uhr|h|horas)",
        r"(?P<hour>\d{1,2})\s?(?:(?P<half>[ap])\.?\s?m\b\.?|uhr\b|horas\b|h\b)",
    )
)
_OFFSET = re.compile(r"(?:utc|gmt)?\s?([+-])(\d{1,2}):?(\d\d)?", re.IGNORECASE)


class TimeOfDay(NamedTuple):
    """A time of day."""

    time: time
    zone: tzinfo | None
    rest: str
    """The text without it."""
    halves: bool
    """Whether it is written with am or pm."""


def find_time_of_day(text: str) -> TimeOfDay | None:
    """Return the time of day that a text has, or nothing; a time that does not exist is none."""
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            found = _time(match.groupdict())
            if found is None:
                return None
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            return TimeOfDay(
                found, parse_zone(match["zone"]), rest.strip(" ,;-()|·•"), bool(match.groupdict().get("half"))
            )
    return None


def _time(parts: dict[str, str | None]) -> time | None:
    hour = int(parts["hour"] or 0)
    if half := (parts.get("half") or "").casefold():
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23:
        return None
    fraction = (parts.get("fraction") or "")[:6].ljust(6, "0")
    return time(hour, int(parts.get("minute") or 0), int(parts.get("second") or 0), int(fraction))


def parse_zone(written: str | None) -> tzinfo | None:
    """Return the time zone of a writing: WEST, +01:00, UTC-3."""
    if not written:
        return None
    if (minutes := ZONE_MINUTES.get(written.casefold())) is not None:
        return timezone(timedelta(minutes=minutes))
    match = _OFFSET.fullmatch(written)
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes)) if minutes <= 14 * 60 else None
