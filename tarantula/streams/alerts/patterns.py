"""Regular expressions of people: checked when they are written, and given up when they take too long."""

from __future__ import annotations

import logging
from functools import lru_cache

import regex

logger = logging.getLogger(__name__)

LONGEST_PATTERN = 300
PATIENCE = 0.05
"""Seconds that one look may take: some expressions would take years."""
LONGEST_TEXT = 10_000


def check_pattern(pattern: str) -> None:
    """Refuse what is no regular expression."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"A regular expression has at most {LONGEST_PATTERN} letters, and this has {len(pattern)}.")
    try:
        _compiled(pattern)
    except regex.error as error:
        raise ValueError(f"{pattern[:80]!r} is not a regular expression: {error}.") from error


def matches(pattern: str, text: str) -> bool | None:
    """Say whether something in a text fits; neither, if that cannot be told in time."""
    try:
        return _compiled(pattern).search(text[:LONGEST_TEXT], timeout=PATIENCE) is not None
    except regex.error:
        return None
    except TimeoutError:
        logger.warning("The regular expression %r takes too long on a text of %d letters.", pattern, len(text))
        return None


@lru_cache(maxsize=500)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)
