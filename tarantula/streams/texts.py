"""Texts as they are read: with single spaces, and not too long."""

from __future__ import annotations

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
