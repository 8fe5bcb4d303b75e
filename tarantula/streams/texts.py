"""Text helpers: collapse whitespace, fold case and accents, and run user-supplied regular expressions with a time
limit."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from tarantula.core.errors import MessageError
from tarantula.core.messages import Message

if TYPE_CHECKING:
    import regex

LONGEST_TEXT = 10_000
"""Maximum number of characters of one value."""
LONGEST_PATTERN = 500
PATTERN_TIMEOUT_SECONDS = 0.05
"""Time limit of a search, against catastrophic backtracking."""


class TextTooLong(MessageError, ValueError):
    """The text is too long to be a value."""


def collapse_spaces(text: str) -> str:
    """Collapse whitespace as browsers do; raise `TextTooLong` if the text is too long."""
    tidied = " ".join(text[: 10 * LONGEST_TEXT].split())
    if len(tidied) > LONGEST_TEXT:
        raise TextTooLong("The text is longer than {limit:,} characters. Choose a smaller part.", limit=LONGEST_TEXT)
    return tidied


def fold_text(text: str) -> str:
    """Return a text in lower case without accents, with single spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in letters if not unicodedata.combining(letter)).split())


class PatternTimeout(MessageError, ValueError):
    """The search exceeded its time limit."""


def check_pattern(pattern: str) -> str:
    """Return a valid regular expression; raise `ValueError` if it is not one."""
    if pattern:
        compile_pattern(pattern)
    return pattern


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Return a compiled regular expression; raise `ValueError` if it is invalid."""
    import regex

    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(
            Message(
                "The regular expression is longer than {limit} characters. Write a shorter one.", limit=LONGEST_PATTERN
            )
        )
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(
            Message("{pattern!r} is not a regular expression: {error}.", pattern=pattern[:80], error=error)
        ) from error


def search_pattern(pattern: str, text: str) -> tuple[int, str] | None:
    """Return start and text of the first participating group, or of the whole match; None without a match."""
    try:
        found = compile_pattern(pattern).search(text, timeout=PATTERN_TIMEOUT_SECONDS)
    except TimeoutError as error:
        raise PatternTimeout(
            "The regular expression {pattern!r} takes too long on this text. Write a simpler one.", pattern=pattern[:80]
        ) from error
    if found is None:
        return None
    group = next((number for number in range(1, len(found.groups()) + 1) if found[number] is not None), 0)
    return found.start(group), found[group]


def extract_text(raw: str, pattern: str) -> str:
    """Return the part of a text that a pattern finds, or the whole text without one; spaces are collapsed."""
    text = collapse_spaces(raw)
    found = search_pattern(pattern, text) if pattern else (0, text)
    return found[1].strip() if found else ""
