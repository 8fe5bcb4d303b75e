"""Text helpers: collapse whitespace, fold case and accents, and run user-supplied regular expressions with a time
limit.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

LONGEST_TEXT = 10_000
"""Letters of one value; what is longer is nothing that anybody follows."""


class TextTooLong(ValueError):
    """A text that is too long to be a value: a sentence."""


def collapse_spaces(text: str) -> str:
    """Return a text with single spaces, as a browser shows it, or refuse one that is too long."""
    tidied = " ".join(text[: 10 * LONGEST_TEXT].split())
    if len(tidied) > LONGEST_TEXT:
        raise TextTooLong(f"The text is longer than {LONGEST_TEXT:,} letters, and no value. Choose something smaller.")
    return tidied


def fold_text(text: str) -> str:
    """Return a text in small letters without accents, with single spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in letters if not unicodedata.combining(letter)).split())


LONGEST_PATTERN = 500
PATTERN_TIMEOUT_SECONDS = 0.05
"""Seconds after which a search is given up: a pattern that goes back and forth would go on for years."""


class PatternTimeout(ValueError):
    """A search that took too long: a sentence."""


def check_pattern(pattern: str) -> str:
    """Return a regular expression, or say what is wrong with it."""
    if pattern:
        compile_pattern(pattern)
    return pattern


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Return a regular expression ready for use, or say what is wrong with it."""
    import regex

    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"The regular expression is longer than {LONGEST_PATTERN} letters. Write a shorter one.")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern[:80]!r} is not a regular expression: {error}.") from error


def search_pattern(pattern: str, text: str) -> tuple[int, str] | None:
    """Return what a pattern finds and where it begins: its first group that took part, or all that it matches."""
    try:
        found = compile_pattern(pattern).search(text, timeout=PATTERN_TIMEOUT_SECONDS)
    except TimeoutError as error:
        raise PatternTimeout(
            f"The regular expression {pattern[:80]!r} takes too long on this text. Write a simpler one."
        ) from error
    if found is None:
        return None
    group = next((number for number in range(1, len(found.groups()) + 1) if found[number] is not None), 0)
    return found.start(group), found[group]


def extract_text(raw: str, pattern: str) -> str:
    """Return what is wanted of a text, with single spaces; nothing if it is not in it."""
    text = collapse_spaces(raw)
    found = search_pattern(pattern, text) if pattern else (0, text)
    return found[1].strip() if found else ""
