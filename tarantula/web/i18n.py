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


def translate_reason(code: str | None, parameters: Mapping[str, Any] | None) -> str:
    """Return the sentence of a reason in the reader's language; empty if there is no reason."""
    return Reason(code, parameters or {}).sentence(_) if code is not None else ""


PLACEHOLDER = "{}"
MAX_PATTERN_LENGTH = 1000
"""Letters of a sentence in which values are looked for."""
_PLACE = re.compile(r"\{(\d?)\}")
_NAME = re.compile(r"[\w.-]+")


def translate_sentence(text: str) -> str:
    """Return sentences in the reader's language, as far as there are translations."""
    return "\n".join(_retold(line) for line in text.split("\n"))


def _retold(sentence: str) -> str:
    if (whole := _(sentence)) != sentence or len(sentence) > MAX_PATTERN_LENGTH:
        return whole
    for pattern, words in _patterns(language()):
        if found := pattern.fullmatch(sentence):
            # A value may be a sentence itself: what was wrong in another place.
            return _filled(words, [_retold(value) for value in found.groups()])
    name, colon, rest = sentence.partition(": ")
    # Of a field, something that is said of any.
    return f"{name}: {_retold(rest)}" if colon and _NAME.fullmatch(name) else sentence


def _filled(words: str, values: Sequence[str]) -> str:
    """Put values in the places of ``{}``, or of ``{0}`` and ``{1}`` where the language has another order."""
    following = iter(values)
    return _PLACE.sub(lambda place: values[int(place[1])] if place[1] else next(following), words)


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], str]]:
    """Return how sentences look, those that say most by themselves first."""
    known = [(text, words) for text, words in translations(name).items() if PLACEHOLDER in text]
    known.sort(key=lambda one: -len(one[0].replace(PLACEHOLDER, "")))
    return [(_pattern(text), words) for text, words in known]


def _pattern(text: str) -> re.Pattern[str]:
    first, *others = text.split(PLACEHOLDER)
    pieces, before = [re.escape(first)], first
    for part in others:
        # What follows a full stop is another sentence, or nothing: a full stop within a name is none.
        pieces += ("((?: .*?)?)" if before.endswith((".", "?")) else "(.*?)", re.escape(part))
        before = part
    return re.compile("".join(pieces), re.DOTALL)
