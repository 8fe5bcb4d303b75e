"""The words of the pages, in the reader's language. English ones are in the code, and are the keys of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from babel import negotiate_locale
from babel.messages.pofile import read_po

LANGUAGES = {"en": "English", "pt": "Português"}
"""Those in which the pages are, as they call themselves."""
DEFAULT_LANGUAGE = "en"
LANGUAGE_COOKIE = "tarantula_language"
LOCALE = Path(__file__).parent / "locale"

_language: ContextVar[str] = ContextVar("language", default=DEFAULT_LANGUAGE)


def _(text: str, **values: object) -> str:
    """Return a text in the language of whoever reads it, with values in the place of ``{names}``."""
    words = translations(_language.get()).get(text, text)
    return words.format(**values) if values else words


def mark(text: str) -> str:
    """Return a text as it is; it is translated later, when somebody reads it."""
    return text


def language() -> str:
    """Return the language of whoever reads."""
    return _language.get()


@contextmanager
def language_set_to(name: str) -> Iterator[None]:
    """Use a language for a while."""
    token = _language.set(name)
    try:
        yield
    finally:
        _language.reset(token)


def set_language(name: str) -> None:
    """Use a language from now on, in this task."""
    _language.set(name)


def negotiate_language(cookie: str | None, accepted: str) -> str:
    """Return the language that somebody chose, or else the one that the browser asks for."""
    if cookie in LANGUAGES:
        return cookie
    preferred = [part.partition(";")[0].strip().replace("-", "_") for part in accepted.split(",")]
    found = negotiate_locale(preferred, list(LANGUAGES))
    return found.partition("_")[0] if found else DEFAULT_LANGUAGE


@cache
def translations(name: str) -> Mapping[str, str]:
    """Return the texts of a language by the English ones."""
    path = LOCALE / f"{name}.po"
    if not path.exists():
        return {}
    with path.open("rb") as file:
        catalog = read_po(file, locale=name)
    return {str(message.id): str(message.string) for message in catalog if message.id and message.string}
