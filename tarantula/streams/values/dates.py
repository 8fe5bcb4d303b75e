"""Parse dates in digits and in words, in Portuguese, English, German and French, and with dateparser in other
languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.time_words import DATE_FILLERS, MONTHS, RELATIVE_DAYS, WEEKDAYS
from tarantula.streams.values.value import ValueParseError

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
