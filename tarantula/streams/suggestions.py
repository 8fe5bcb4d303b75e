"""Suggestions for the picker and the command line: fields of a response that could be followed, and their rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from tarantula.streams.texts import fold_text

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
    """Some of its texts, to guess its kind."""

    @property
    def can_name_rows(self) -> bool:
        """Whether its samples are distinct words."""
        texts = self.samples
        return len(texts) > 1 and len(set(texts)) == len(texts) and all(text[:1].isalpha() for text in texts)


class SuggestionGroup(NamedTuple):
    """Fields of one table, list or document."""

    options: dict[str, Any]
    """Adapter options that select the table or list."""
    fields: list[FieldSuggestion]
    rows: list[str]
    """Names of rows that could be followed; empty for a single row."""


class RowChoice(StrEnum):
    """Rows of a document to follow."""

    ONE = "one"
    """A single row."""
    LAST = "last"
    FIRST = "first"
    NAMED = "named"
    """All rows by name."""
    NEWS = "news"
    """New rows as events."""
    NEXT = "next"
    """The next events of a calendar."""


@dataclass(frozen=True, slots=True)
class DocumentOffer:
    """One way to read a document."""

    rows: RowChoice
    values: list[FieldSuggestion]
    options: dict[str, Any] = field(default_factory=dict)
    named_by: FieldSuggestion | None = None
    """The value that names the rows."""
    where: str = ""
    """Path of the list within the document, if it has several."""
    adapter: str = ""
    """Name of the adapter; set by the picker."""


def key_of(title: str, taken: set[str]) -> str:
    """Return a key made from a title that is not in *taken*, and add it."""
    plain = _NOT_IN_KEYS.sub("_", fold_text(title)).strip("_")[:50]
    stem = plain if plain[:1].isalpha() else f"field_{plain}".rstrip("_")
    key, number = stem, 1
    while key in taken:
        number += 1
        key = f"{stem}_{number}"
    taken.add(key)
    return key
