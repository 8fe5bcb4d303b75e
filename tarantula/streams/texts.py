"""Text helpers: collapse whitespace, fold case and accents, and run user-supplied regular expressions with a time
limit."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import local
from typing import TYPE_CHECKING

from tarantula.core.errors import MessageError
from tarantula.core.limited_worker import ParserLimitError, is_worker
from tarantula.core.messages import Message
from tarantula.streams.expression_cost import is_cheap_pattern
from tarantula.streams.limited import CHECK_SECONDS, ask_worker, check_in_worker

if TYPE_CHECKING:
    import regex

LONGEST_TEXT = 10_000
"""Maximum number of characters of one value."""
LONGEST_PATTERN = 500
PATTERN_TIMEOUT_SECONDS = 0.05
"""Time limit of a search, against catastrophic backtracking."""
_budget = local()


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
    if pattern and (is_worker() or is_cheap_pattern(pattern)):
        compile_pattern(pattern)
    elif pattern:
        # A count of a billion takes gigabytes before anything is searched.
        _check_length(pattern)
        check_in_worker("regex", pattern)
    return pattern


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Return a compiled regular expression; raise `ValueError` if it is invalid."""
    import regex

    _check_length(pattern)
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(
            Message("{pattern!r} is not a regular expression: {error}.", pattern=pattern[:80], error=error)
        ) from error


def _check_length(pattern: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(
            Message(
                "The regular expression is longer than {limit} characters. Write a shorter one.", limit=LONGEST_PATTERN
            )
        )


@contextmanager
def pattern_budget(seconds: float) -> Iterator[None]:
    """Limit the time of all searches of a block in this thread; later ones raise `PatternTimeout` at once."""
    before = getattr(_budget, "left", None)
    _budget.left = seconds if before is None else min(seconds, before)
    try:
        yield
    finally:
        _budget.left = before


def is_pattern_budget_spent() -> bool:
    """Whether the time of `pattern_budget` is over in this thread."""
    return bool(getattr(_budget, "left", None) is not None and _budget.left <= 0)


def search_pattern(pattern: str, text: str) -> tuple[int, str] | None:
    """Return start and text of the first participating group, or of the whole match; None without a match."""
    left: float | None = getattr(_budget, "left", None)
    limit = PATTERN_TIMEOUT_SECONDS if left is None else min(PATTERN_TIMEOUT_SECONDS, left)
    began = time.perf_counter()
    try:
        if limit <= 0:
            raise TimeoutError
        if not is_worker() and not is_cheap_pattern(pattern):
            # The search holds the interpreter, so it is made in another process.
            start_and_text = ask_worker("search", {"pattern": pattern, "text": text}, seconds=CHECK_SECONDS)
            return (int(start_and_text[0]), str(start_and_text[1])) if start_and_text is not None else None
        found = compile_pattern(pattern).search(text, timeout=limit)
    except (TimeoutError, ParserLimitError) as error:
        raise PatternTimeout(
            "The regular expression {pattern!r} takes too long on this text. Write a simpler one.", pattern=pattern[:80]
        ) from error
    finally:
        if left is not None:
            _budget.left = left - (time.perf_counter() - began)
    if found is None:
        return None
    group = next((number for number in range(1, len(found.groups()) + 1) if found[number] is not None), 0)
    return found.start(group), found[group]


def extract_text(raw: str, pattern: str) -> str:
    """Return the part of a text that a pattern finds, or the whole text without one; spaces are collapsed."""
    text = collapse_spaces(raw)
    found = search_pattern(pattern, text) if pattern else (0, text)
    return found[1].strip() if found else ""
