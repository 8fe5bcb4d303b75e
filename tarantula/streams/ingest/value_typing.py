"""Typing of the texts of a field: guess its kind, and parse texts into values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import isfinite

from tarantula.core.columns import storable_text
from tarantula.streams.adapters.base import ReadRow
from tarantula.streams.ingest.memory import SourceMemory
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import SourceConfig, SourceField
from tarantula.streams.values import guess_field, parse_value
from tarantula.streams.values.value import Value, ValueParseError

LINK_ATTRIBUTES = ("href", "src")
"""Attributes whose texts are URLs."""
MAX_VALUE_CHARS = 10_000
"""Longer texts are not values."""


def clean_text(text: str) -> str:
    """Return a text without surrounding whitespace and without characters that cannot be stored."""
    return storable_text(text).strip()


def with_guessed_kinds(config: SourceConfig, rows: Iterable[ReadRow], memory: SourceMemory) -> SourceConfig:
    """Return the configuration with a guessed kind for every field that has none and has a text."""
    rows = list(rows)
    fields = tuple(_with_kind(field, rows, memory) for field in config.fields)
    return config if fields == config.fields else config.model_copy(update={"fields": fields})


def _with_kind(field: SourceField, rows: list[ReadRow], memory: SourceMemory) -> SourceField:
    if field.kind is not None:
        return field
    texts = [
        text for row in rows if (text := clean_text(row.texts.get(field.key, ""))) and len(text) <= MAX_VALUE_CHARS
    ]
    if not texts:
        return field
    guessed = guess_field(texts)
    if (
        guessed.kind is ValueKind.TEXT
        and field.place.get("attribute") in LINK_ATTRIBUTES
        and "regex" not in field.place
    ):
        guessed = guessed._replace(kind=ValueKind.URL)
    if field.key not in memory.guessed:
        memory.guessed.append(field.key)
    return field.model_copy(
        update={
            "kind": guessed.kind,
            "unit": field.unit or guessed.unit,
            "aggregation": field.aggregation or guessed.aggregation,
        }
    )


def widened_kind(field: SourceField, text: str, memory: SourceMemory) -> SourceField:
    """Return the field as decimal if it was guessed to be an integer and *text* is none; otherwise unchanged."""
    if field.kind is ValueKind.INTEGER and field.key in memory.guessed:
        guessed = guess_field([*memory.texts.get(field.key, ()), text])
        if guessed.kind is ValueKind.DECIMAL:
            return field.model_copy(update={"kind": guessed.kind})
    return field


def typed_value(field: SourceField, text: str, memory: SourceMemory, base_url: str, now: datetime) -> Value:
    """Parse a text as a value of a field; raise `ValueParseError` if it is none."""
    if len(text) > MAX_VALUE_CHARS:
        raise ValueParseError(
            "It has {length:,} characters, and a value has at most {limit:,}.", length=len(text), limit=MAX_VALUE_CHARS
        )
    kind = field.kind or ValueKind.TEXT
    history = memory.texts.get(field.key, ())
    value = parse_value(text, kind, field.unit, history, base_url=base_url, now=now)
    if value.number is not None and not isfinite(float(value.number)):
        raise ValueParseError("{text} is larger than any number that can be drawn.", text=text[:40])
    return value
