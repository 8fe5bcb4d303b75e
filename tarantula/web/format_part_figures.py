"""Numbers, sizes and moments as the reader's language writes them."""

from __future__ import annotations

from datetime import datetime

from babel.dates import format_datetime
from babel.numbers import format_decimal, format_percent

from tarantula.web.i18n import language

BABEL_LOCALES = {"en": "en_GB", "pt": "pt_PT"}
SIZE_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
KB = 1000


def format_number(value: float) -> str:
    """Write a number with the separators of the language."""
    return format_decimal(value, locale=BABEL_LOCALES[language()])


def format_share(value: float) -> str:
    """Write how many of a hundred."""
    return format_percent(value / 100, format="#,##0.0 %", locale=BABEL_LOCALES[language()])


def format_size(value: float) -> str:
    """Write a number of bytes in the unit that fits."""
    unit = 0
    while abs(value) >= KB and unit < len(SIZE_UNITS) - 1:
        value, unit = value / KB, unit + 1
    return f"{format_number(round(value, 1 if unit else 0))} {SIZE_UNITS[unit]}"


def format_moment(value: datetime | str | None) -> str:
    """Write a moment on the clocks of this machine; nothing is a dash."""
    if not value:
        return "–"
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return format_datetime(at.astimezone(), "yyyy-MM-dd HH:mm", locale=BABEL_LOCALES[language()])
