"""Sentences that the stages say in English, with values in them, told in the reader's language.

A complaint such as "The depth must be 0 or more, and -1 is not." was put together where nobody knows who
reads it. The translations have it as "The depth must be {} or more, and {} is not.", and the values are
found in it by that pattern. What no pattern fits stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from tarantula.web.i18n import _, language, translations

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
