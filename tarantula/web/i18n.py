"""The reader's language: translated texts, messages and reasons; numbers, sizes and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from babel import negotiate_locale
from babel.dates import format_datetime
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent

from tarantula.core.messages import Message
from tarantula.core.reasons import Reason
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import format_value
from tarantula.streams.views.cells import ViewCell, ViewColumn

LANGUAGES = {"en": "English", "pt": "Português"}
"""Languages of the interface, by code, in their own names."""
DEFAULT_LANGUAGE = "en"
LANGUAGE_COOKIE = "tarantula_language"
BABEL_LOCALES = {"en": "en_GB", "pt": "pt_PT"}
SIZE_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
KB = 1000


LOCALE = Path(__file__).parent / "locale"

_language: ContextVar[str] = ContextVar("language", default=DEFAULT_LANGUAGE)


def _(text: str, /, **values: object) -> str:
    """Return a text in the reader's language: ``_("{name} is saved.", name=name)``, or ``_(str(error))``.

    A `Message` has its values with it, and those that are messages are translated too.
    """
    if values or isinstance(text, Message):
        return Message(text, **values).render(_translation)
    return _translation(text)


def mark(text: str) -> str:
    """Mark a text for translation and return it unchanged; it is translated when it is shown."""
    return text


def language() -> str:
    """Return the current language code."""
    return _language.get()


@contextmanager
def language_set_to(name: str) -> Iterator[None]:
    """Use a language within a block."""
    token = _language.set(name)
    try:
        yield
    finally:
        _language.reset(token)


def set_language(name: str) -> None:
    """Use a language for the rest of this task."""
    _language.set(name)


def negotiate_language(cookie: str | None, accepted: str) -> str:
    """Return the language of the cookie, or else the best match for the Accept-Language header."""
    if cookie in LANGUAGES:
        return cookie
    preferred = [part.partition(";")[0].strip().replace("-", "_") for part in accepted.split(",")]
    found = negotiate_locale(preferred, list(LANGUAGES))
    return found.partition("_")[0] if found else DEFAULT_LANGUAGE


@cache
def translations(name: str) -> Mapping[str, str]:
    """Return the translations of a language, by English text."""
    path = LOCALE / f"{name}.po"
    if not path.exists():
        return {}
    with path.open("rb") as file:
        catalog = read_po(file, locale=name)
    return {str(message.id): str(message.string) for message in catalog if message.id and message.string}


def translate_reason(code: str | None, parameters: Mapping[str, Any] | None) -> str:
    """Return the sentence of a reason in the reader's language; empty if there is no reason."""
    return _(Reason(code, parameters or {}).sentence()) if code is not None else ""


def translate_reasons(reasons: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the sentences of reasons in their form in JSON: `code` and `parameters`."""
    return [translate_reason(reason["code"], reason["parameters"]) for reason in reasons]


def _translation(text: str) -> str:
    return translations(_language.get()).get(text, text)


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
