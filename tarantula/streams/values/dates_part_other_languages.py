"""Dates in words of languages that have no way of their own here, told by dateparser."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

LANGUAGES = ["es", "it", "nl", "ca", "gl", "ro", "pl", "cs", "sv", "da", "nb", "fi", "hu", "tr", "ru", "uk"]
_LIKE_A_DATE = re.compile(r"(?=.*(?<!\d)\d{1,2}(?!\d))(?=.*(?<!\d)(?:19|20)\d\d(?!\d))(?=.*[^\W\d_]{3}).{8,60}")
"""A day, a year and a word: less than that is a guess, and dateparser guesses gladly."""


def parse_other_language(text: str, now: datetime) -> datetime | None:
    """Return the moment that a text in another language says; None if none can be told."""
    if not _LIKE_A_DATE.fullmatch(text):
        return None
    found = _parsed(text)
    return found.replace(tzinfo=found.tzinfo or now.tzinfo) if found else None


@lru_cache(4096)
def _parsed(text: str) -> datetime | None:
    data = _parser().get_date_data(text)
    return data.date_obj if data.period in ("day", "time") else None


@lru_cache(1)
def _parser() -> DateDataParser:
    # Slow to import, and wanted for few texts.
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
