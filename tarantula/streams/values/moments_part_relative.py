"""Moments told from now: há 5 minutos, 3 hours ago, in zwei Tagen."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, timedelta

from tarantula.streams.values import durations
from tarantula.streams.values.time_words import UNIT_MONTHS

_ABOUT = r"(?:cerca de|aproximadamente|about|around|approximately|etwa|environ|quase)?\s*"
_PAST = re.compile(rf"(?:há|ha|faz|vor|il y a)\s+{_ABOUT}(.+)|{_ABOUT}(.+?)\s+(?:atrás|atras|ago)", re.IGNORECASE)
_FUTURE = re.compile(rf"(?:daqui a|dentro de|in|em|dans)\s+{_ABOUT}(.+)", re.IGNORECASE)
_MONTHS = re.compile(r"(\d{1,4})\s?([^\W\d_]+)")


def parse_relative(text: str, now: datetime) -> datetime | None:
    """Return the moment that a text tells from now; None if it does not do so."""
    text = text.strip(" .")
    if match := _PAST.fullmatch(text):
        return _moved(match[1] or match[2], now, -1)
    if match := _FUTURE.fullmatch(text):
        return _moved(match[1], now, 1)
    return None


def _moved(amount: str, now: datetime, direction: int) -> datetime | None:
    amount = re.sub(r"\s(?:atrás|atras)$", "", amount)
    amount = durations.count_to_digits(amount)
    if (match := _MONTHS.fullmatch(amount)) and match[2].casefold() in UNIT_MONTHS:
        return _months(now, direction * int(match[1]) * UNIT_MONTHS[match[2].casefold()])
    seconds = durations.sum_duration_parts(amount)
    if seconds is None or seconds < 0:
        return None
    return now + direction * timedelta(microseconds=int(seconds * 1_000_000))


def _months(now: datetime, months: int) -> datetime:
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
