"""Numbers, sizes, times and stream values, formatted for the reader's language."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from babel.dates import format_datetime
from babel.numbers import format_decimal, format_percent

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import format_value
from tarantula.streams.views.cells import ViewCell, ViewColumn
from tarantula.web.i18n import language

BABEL_LOCALES = {"en": "en_GB", "pt": "pt_PT"}
SIZE_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
KB = 1000


def format_number(value: float) -> str:
    """Format a number with the separators of the language."""
    return format_decimal(value, locale=BABEL_LOCALES[language()])


def format_share(value: float) -> str:
    """Format a percentage."""
    return format_percent(value / 100, format="#,##0.0 %", locale=BABEL_LOCALES[language()])


def format_size(value: float) -> str:
    """Format a number of bytes in a fitting unit."""
    unit = 0
    while abs(value) >= KB and unit < len(SIZE_UNITS) - 1:
        value, unit = value / KB, unit + 1
    return f"{format_number(round(value, 1 if unit else 0))} {SIZE_UNITS[unit]}"


def format_moment(value: datetime | str | None) -> str:
    """Format a time in the time zone of this machine; None is a dash."""
    if not value:
        return "–"
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return format_datetime(at.astimezone(), "yyyy-MM-dd HH:mm", locale=BABEL_LOCALES[language()])


NO_VALUE = "–"
ROUNDING_LIMIT = 1000
"""Computed numbers below it have five significant digits; above it, two decimals."""


def format_cell(cell: ViewCell | None, column: ViewColumn) -> str:
    """Format a value of a column; None is a dash."""
    if cell is None:
        return NO_VALUE
    if not column.source and cell.number is not None:
        return format_plain_number(cell.number)
    kind = ValueKind.DECIMAL if column.kind == ValueKind.INTEGER and not _is_whole(cell.text) else column.kind
    return format_value(cell.text, kind, column.unit, language())


def format_cell_number(number: float, column: ViewColumn) -> str:
    """Format a number of a column."""
    return format_cell(ViewCell(f"{number:.12g}", number), column)


def format_plain_number(number: float) -> str:
    """Format a computed number without unit."""
    return format_value(_rounded(number), ValueKind.DECIMAL, "", language())


def format_timestamp(at: int | None) -> str:
    """Format microseconds since 1970 in the time zone of this machine."""
    if at is None:
        return NO_VALUE
    return datetime.fromtimestamp(at / 1_000_000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _rounded(number: float) -> str:
    """Round a computed number to a readable precision."""
    exact = Decimal(repr(number))
    return format(round(exact, 2) if abs(number) >= ROUNDING_LIMIT else Decimal(f"{number:.5g}"), "f")


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdigit()
