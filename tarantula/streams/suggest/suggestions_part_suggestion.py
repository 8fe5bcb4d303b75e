"""A field that could be followed."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tarantula.streams.texts_part_words import fold_text

MOST_SUGGESTED_FIELDS = 100
MOST_SAMPLES = 5
MOST_SUGGESTED_ROWS = 50
LONGEST_SAMPLE = 200
_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")


class FieldSuggestion(NamedTuple):
    """A field that could be followed."""

    key: str
    title: str
    place: dict[str, Any]
    samples: list[str]
    """A few of its texts, from which its kind is guessed."""


class SuggestionGroup(NamedTuple):
    """What one table, list or document offers."""

    options: dict[str, Any]
    """For the adapter, so that these fields are found."""
    fields: list[FieldSuggestion]
    rows: list[str]
    """Names of rows that could be followed; none if there is one only."""


def key_of(title: str, taken: set[str]) -> str:
    """Return a key for a title that no other field has."""
    plain = _NOT_IN_KEYS.sub("_", fold_text(title)).strip("_")[:50]
    stem = plain if plain[:1].isalpha() else f"field_{plain}".rstrip("_")
    key, number = stem, 1
    while key in taken:
        number += 1
        key = f"{stem}_{number}"
    taken.add(key)
    return key
