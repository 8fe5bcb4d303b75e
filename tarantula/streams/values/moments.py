"""Parse dates, times of day and moments, with relative ones as “há 3 dias”, in the field's time zone."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from datetime import time as time_of_day
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import durations
from tarantula.streams.values.durations import (
    DATE_FILLERS,
    DATE_LABELS,
    MONTHS,
    NOW_WORDS,
    RELATIVE_DAYS,
    UNIT_MONTHS,
    WEEKDAYS,
    ZONE_MINUTES,
)
from tarantula.streams.values.numbers import canonical_number
from tarantula.streams.values.value import Value, ValueParseError, quote_text

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

_YEAR_FIRST = re.compile(r"(\d{4})([-./])(\d{1,2})\2(\d{1,2})")
_YEAR_LAST = re.compile(r"(\d{1,2})\s?([-./])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{2})\.?")
_NO_YEAR = re.compile(r"(\d\d)/(\d\d)|(\d{1,2})\.(\d{1,2})\.")
_IN_TEXT = re.compile(r"(?<![\d./-])(\d{1,2})\s?([-./])\s?(\d{1,2})\s?\2\s?(?:\d{4}|\d{2})(?![\d/-])")
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*|\d+|\S")
_SUFFIXES = frozenset("st nd rd th er º ª ° . , - / ( )".split())
LANGUAGES = ["es", "it", "nl", "ca", "gl", "ro", "pl", "cs", "sv", "da", "nb", "fi", "hu", "tr", "ru", "uk"]
_LIKE_A_DATE = re.compile(r"(?=.*(?<!\d)\d{1,2}(?!\d))(?=.*(?<!\d)(?:19|20)\d\d(?!\d))(?=.*[^\W\d_]{3}).{8,60}")
"""Day, year and word: with less than that, dateparser guesses."""


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
_ABOUT = r"(?:cerca de|aproximadamente|about|around|approximately|etwa|environ|quase)?\s*"
_PAST = re.compile(rf"(?:há|ha|faz|vor|il y a)\s+{_ABOUT}(.+)|{_ABOUT}(.+?)\s+(?:atrás|atras|ago)", re.IGNORECASE)
_FUTURE = re.compile(rf"(?:daqui a|dentro de|in|em|dans)\s+{_ABOUT}(.+)", re.IGNORECASE)
_MONTHS = re.compile(r"(\d{1,4})\s?([^\W\d_]+)")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)\s?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.IGNORECASE
)
_BASIC_ISO = re.compile(r"(?:19|20)\d{6}(?:T\d{4}(?:\d\d)?(?:Z|[+-]\d{4})?)?")
_EPOCH = re.compile(r"(\d{9,10})(?:\.(\d{1,6}))?|(\d{12,13})|(\d{15,16})")
_FIRST_EPOCH, _LAST_EPOCH = 315532800, 4102444800
"""1980 to 2100: other numbers with as many digits are not Unix times."""


class TimeOfDay(NamedTuple):
    """A time of day found in a text."""

    time: time
    zone: tzinfo | None
    rest: str
    """The text without the time."""
    has_am_pm: bool
    """Whether the time has am or pm."""


def find_time_of_day(text: str) -> TimeOfDay | None:
    """Return the time of day in a text; None if there is none or it is invalid."""
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            found = _parse_time(match.groupdict())
            if found is None:
                return None
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            return TimeOfDay(
                found, parse_zone(match["zone"]), rest.strip(" ,;-()|·•"), bool(match.groupdict().get("half"))
            )
    return None


def _parse_time(parts: dict[str, str | None]) -> time | None:
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
    """Return the time zone of an abbreviation or offset: WEST, +01:00, UTC-3."""
    if not written:
        return None
    if (minutes := ZONE_MINUTES.get(written.casefold())) is not None:
        return timezone(timedelta(minutes=minutes))
    match = _OFFSET.fullmatch(written)
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes)) if minutes <= 14 * 60 else None


def parse_relative(text: str, now: datetime) -> datetime | None:
    """Return the moment of a text relative to *now*; None if it is not relative."""
    text = text.strip(" .")
    if match := _PAST.fullmatch(text):
        return _shift(match[1] or match[2], now, -1)
    if match := _FUTURE.fullmatch(text):
        return _shift(match[1], now, 1)
    return None


def _shift(amount: str, now: datetime, direction: int) -> datetime | None:
    amount = re.sub(r"\s(?:atrás|atras)$", "", amount)
    amount = durations.count_to_digits(amount)
    if (match := _MONTHS.fullmatch(amount)) and match[2].casefold() in UNIT_MONTHS:
        return _add_months(now, direction * int(match[1]) * UNIT_MONTHS[match[2].casefold()])
    seconds = durations.sum_duration_parts(amount)
    if seconds is None or seconds < 0:
        return None
    return now + direction * timedelta(microseconds=int(seconds * 1_000_000))


def _add_months(now: datetime, months: int) -> datetime:
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))


def parse_moment(text: str, history: Sequence[str], now: datetime | None) -> Value:
    """Parse a date, a time, or both; *now* resolves relative and partial texts."""
    at = now or datetime.now(UTC)
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    try:
        found = _epoch(text) or _iso(text, at.tzinfo) or _parse_words(text, history, at)
        seconds = found.astimezone(UTC) if found else None
    except (OverflowError, ValueError) as error:
        if isinstance(error, ValueParseError):
            raise
        raise ValueParseError("{text} is not a valid date and time.", text=quote_text(text)) from None
    if seconds is None:
        raise ValueParseError("{text} is not a recognisable date or time.", text=quote_text(text))
    return moment_value(seconds)


def moment_value(at: datetime) -> Value:
    """Return the value of a moment."""
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


def _parse_words(text: str, history: Sequence[str], now: datetime) -> datetime | None:
    text = DATE_LABELS.sub("", text, count=1) if DATE_LABELS.match(text) else text
    if text.casefold().strip(" .!") in NOW_WORDS:
        return now
    if (found := parse_relative(text, now)) is not None:
        return found
    time = find_time_of_day(text)
    if time is None:
        day = parse_date(text, history, now.date())
        return _combine(day, None, now) if day else parse_other_language(text, now)
    if not time.rest:
        return _nearest_time(time, now)
    zoned = now.astimezone(time.zone) if time.zone else now
    day = parse_date(time.rest, history, zoned.date(), month_first=time.has_am_pm)
    return _combine(day, time, now) if day else parse_other_language(text, now)


def _combine(day: date, time: TimeOfDay | None, now: datetime) -> datetime:
    midnight = time_of_day()
    zone = (time.zone if time else None) or now.tzinfo
    return datetime.combine(day, time.time if time else midnight, tzinfo=zone)


def _nearest_time(time: TimeOfDay, now: datetime) -> datetime:
    """Return the moment nearest to *now* with this time of day."""
    local = now.astimezone(time.zone or now.tzinfo)
    possible = [
        datetime.combine(local.date() + timedelta(days=days), time.time, tzinfo=local.tzinfo) for days in (-1, 0, 1)
    ]
    return min(possible, key=lambda one: abs(one - now))


def parse_date(text: str, history: Sequence[str], today: date, *, month_first: bool = False) -> date | None:
    """Return the date in a text without a time of day; None if there is none.

    ``month_first`` is the default order of numeric dates if the history does not decide.
    """
    words = _WORD.findall(text.casefold())
    weekday = _weekday(words)
    ignored = DATE_FILLERS if weekday is None else {*DATE_FILLERS, *WEEKDAYS}
    bare = " ".join(word for word in text.split() if word.casefold().strip(",.") not in ignored)
    found = _numeric_date(bare.strip(" ,"), history, today, weekday, month_first=month_first)
    if found is None:
        found = _worded_date(words, today)
    if found is not None and weekday is not None and found[1] and found[0].weekday() != weekday:
        raise ValueParseError("{text} does not fall on the weekday that it names.", text=quote_text(text))
    return found[0] if found else None


def _weekday(words: list[str]) -> int | None:
    if len(words) > 1 and words[0] in WEEKDAYS and words[1] in (",", "."):
        return WEEKDAYS[words[0]]
    return next(
        (WEEKDAYS[word] for word in words if word in WEEKDAYS and not (word in DATE_FILLERS or word in MONTHS)), None
    )


def _numeric_date(
    text: str, history: Sequence[str], today: date, weekday: int | None, *, month_first: bool
) -> tuple[date, bool] | None:
    if match := _YEAR_FIRST.fullmatch(text):
        return _date(int(match[1]), int(match[3]), int(match[4])), True
    if match := _YEAR_LAST.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), _year(match[4])
    elif match := _NO_YEAR.fullmatch(text):
        first, second, year = int(match[1] or match[3]), int(match[2] or match[4]), 0
    else:
        return None
    if first > 12 or second > 12 or first == second:
        month, day = (first, second) if second > 12 else (second, first)
    elif weekday is not None and year and (day_month := _by_weekday(first, second, year, weekday)):
        day, month = day_month
    elif _month_first(text, history, month_first):
        month, day = first, second
    else:
        day, month = first, second
    return (_date(year, month, day), True) if year else (_nearest_date(month, day, today), False)


def _by_weekday(first: int, second: int, year: int, weekday: int) -> tuple[int, int] | None:
    fitting = [
        (day, month)
        for day, month in ((first, second), (second, first))
        if _date(year, month, day).weekday() == weekday
    ]
    return fitting[0] if len(fitting) == 1 else None


def _month_first(text: str, history: Sequence[str], usual: bool) -> bool:
    orders = {order for order in map(_order, history) if order}
    if len(orders) > 1:
        raise ValueParseError(
            "{text} can be two dates, and earlier texts use both orders of day and month.", text=quote_text(text)
        )
    return orders == {"month"} if orders else usual


@lru_cache(16384)
def _order(text: str) -> str:
    """Return the order of a numeric date, "day" or "month" first; empty if ambiguous."""
    match = _IN_TEXT.search(text[:300])
    if match is None or (int(match[1]) > 12) == (int(match[3]) > 12):
        return ""
    return "day" if int(match[1]) > 12 else "month"


def _worded_date(words: list[str], today: date) -> tuple[date, bool] | None:
    if len(known := [word for word in words if word in RELATIVE_DAYS]) == 1:
        rest = [
            word for word in words if word not in RELATIVE_DAYS and word not in DATE_FILLERS and word not in _SUFFIXES
        ]
        return (today + timedelta(days=RELATIVE_DAYS[known[0]]), True) if not rest else None
    parts = [word for word in words if not (word in _SUFFIXES or word in DATE_FILLERS or _is_weekday(word, words))]
    numbers = [(place, word) for place, word in enumerate(parts) if word.isdigit()]
    names = [(place, MONTHS[word]) for place, word in enumerate(parts) if word in MONTHS]
    if len(names) != 1 or len(numbers) + 1 != len(parts) or not 1 <= len(numbers) <= 2:
        return None
    month = names[0][1]
    years = [word for _, word in numbers if len(word) == 4]
    days = [word for _, word in numbers if len(word) <= 2]
    if len(days) == 2 and numbers[0][0] < 2:
        days, years = days[:1], [str(_year(days[1]))]
    if len(years) + len(days) != len(numbers):
        return None
    if not years:
        return _nearest_date(month, int(days[0]), today), False
    return _date(int(years[0]), month, int(days[0]) if days else 1), True


def _is_weekday(word: str, words: list[str]) -> bool:
    others = [other for other in words if other in MONTHS and other != word]
    return word in WEEKDAYS and (word not in MONTHS or bool(others))


def _year(written: str) -> int:
    # As in POSIX, 69 to 99 belong to the last century.
    year = int(written)
    return year if len(written) == 4 else year + (2000 if year < 69 else 1900)


def _date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise ValueParseError(
            "There is no day {day} in month {month} of {year}.", day=day, month=month, year=year
        ) from None


def _nearest_date(month: int, day: int, today: date) -> date:
    """Return the date nearest to today with this month and day."""
    possible = []
    for year in (today.year - 1, today.year, today.year + 1):
        try:
            possible.append(date(year, month, day))
        except ValueError:
            continue
    if not possible:
        raise ValueParseError("There is no day {day} in month {month}.", day=day, month=month)
    return min(possible, key=lambda one: abs(one - today))


def parse_other_language(text: str, now: datetime) -> datetime | None:
    """Return the date and time in a text in another language; None if there is none."""
    if not _LIKE_A_DATE.fullmatch(text):
        return None
    found = _parse_cached(text)
    return found.replace(tzinfo=found.tzinfo or now.tzinfo) if found else None


@lru_cache(4096)
def _parse_cached(text: str) -> datetime | None:
    data = _parser().get_date_data(text)
    return data.date_obj if data.period in ("day", "time") else None


@lru_cache(1)
def _parser() -> DateDataParser:
    # Imported here: slow, and rarely needed.
    from dateparser.date import DateDataParser

    return DateDataParser(
        languages=LANGUAGES,
        try_previous_locales=False,
        settings={
            "STRICT_PARSING": True,
            "REQUIRE_PARTS": ["day", "month", "year"],
            "PARSERS": ["absolute-time"],
            "DATE_ORDER": "DMY",
        },
    )
