"""Translation of the interface: texts marked in the code, messages of errors, and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from babel import negotiate_locale
from babel.messages.pofile import read_po

from tarantula.core.messages import Message
from tarantula.core.reasons import Reason

LANGUAGES = {"en": "English", "pt": "Português"}
"""Languages of the interface, by code, in their own names."""
DEFAULT_LANGUAGE = "en"
LANGUAGE_COOKIE = "tarantula_language"
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
