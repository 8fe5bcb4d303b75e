"""Translation of the interface: texts marked in the code, and English sentences with values in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from babel import negotiate_locale
from babel.messages.pofile import read_po

from tarantula.core.reasons import Reason

LANGUAGES = {"en": "English", "pt": "Português"}
"""Languages of the interface, by code, in their own names."""
DEFAULT_LANGUAGE = "en"
LANGUAGE_COOKIE = "tarantula_language"
LOCALE = Path(__file__).parent / "locale"

_language: ContextVar[str] = ContextVar("language", default=DEFAULT_LANGUAGE)


def _(text: str, **values: object) -> str:
    """Return the translation of a text, with values in place of ``{names}``."""
    translation = translations(_language.get()).get(text, text)
    return translation.format(**values) if values else translation


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
    return Reason(code, parameters or {}).sentence(_) if code is not None else ""


PLACEHOLDER = "{}"
MAX_PATTERN_LENGTH = 1000
"""Longer sentences are not matched against patterns."""
_PLACE = re.compile(r"\{(\d?)\}")
_NAME = re.compile(r"[\w.-]+")


def translate_sentence(text: str) -> str:
    """Translate English sentences with values in them, one per line; unknown sentences stay unchanged."""
    return "\n".join(_translate_line(line) for line in text.split("\n"))


def _translate_line(sentence: str) -> str:
    if (translated := _(sentence)) != sentence or len(sentence) > MAX_PATTERN_LENGTH:
        return translated
    for pattern, translation in _patterns(language()):
        if found := pattern.fullmatch(sentence):
            # A value may itself be a sentence: the error of another component.
            return _insert_values(translation, [_translate_line(value) for value in found.groups()])
    name, colon, rest = sentence.partition(": ")
    # A general sentence about a named field.
    return f"{name}: {_translate_line(rest)}" if colon and _NAME.fullmatch(name) else sentence


def _insert_values(translation: str, values: Sequence[str]) -> str:
    """Insert values for ``{}``, or for ``{0}`` and ``{1}`` if the translation has another order."""
    following = iter(values)
    return _PLACE.sub(lambda match: values[int(match[1])] if match[1] else next(following), translation)


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of sentences with values, those with the most fixed text first."""
    known = [(text, translation) for text, translation in translations(name).items() if PLACEHOLDER in text]
    known.sort(key=lambda one: -len(one[0].replace(PLACEHOLDER, "")))
    return [(_pattern(text), translation) for text, translation in known]


def _pattern(text: str) -> re.Pattern[str]:
    first, *others = text.split(PLACEHOLDER)
    pieces, before = [re.escape(first)], first
    for part in others:
        # After a full stop only another sentence may follow; a full stop within a name does not count.
        pieces += ("((?: .*?)?)" if before.endswith((".", "?")) else "(.*?)", re.escape(part))
        before = part
    return re.compile("".join(pieces), re.DOTALL)
