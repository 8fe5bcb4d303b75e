"""From the texts of a field to its values, with all that was read of it before."""

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
"""Attributes whose texts are addresses, however they are written."""
MAX_VALUE_CHARS = 10_000
"""Characters; what is longer is no value but a page."""


def clean_text(text: str) -> str:
    """Return a text as it can be kept."""
    return storable_text(text).strip()


def with_guessed_kinds(config: SourceConfig, rows: Iterable[ReadRow], remembered: SourceMemory) -> SourceConfig:
    """Return the configuration with a kind for every field that has a text, told from what was read."""
    rows = list(rows)
    fields = tuple(_with_kind(field, rows, remembered) for field in config.fields)
    return config if fields == config.fields else config.model_copy(update={"fields": fields})


def _with_kind(field: SourceField, rows: list[ReadRow], remembered: SourceMemory) -> SourceField:
    if field.kind is not None:
        return field
    texts = [
        text for row in rows if (text := clean_text(row.texts.get(field.key, ""))) and len(text) <= MAX_VALUE_CHARS
    ]
    if not texts:
        return field
    told = guess_field(texts)
    if told.kind is ValueKind.TEXT and field.place.get("attribute") in LINK_ATTRIBUTES and "regex" not in field.place:
        told = told._replace(kind=ValueKind.URL)
    if field.key not in remembered.guessed:
        remembered.guessed.append(field.key)
    return field.model_copy(
        update={
            "kind": told.kind,
            "unit": field.unit or told.unit,
            "aggregation": field.aggregation or told.aggregation,
        }
    )


def widened_kind(field: SourceField, text: str, remembered: SourceMemory) -> SourceField:
    """Return a field that was taken for whole numbers until one came that is not, if nobody chose its kind."""
    if field.kind is ValueKind.INTEGER and field.key in remembered.guessed:
        told = guess_field([*remembered.texts.get(field.key, ()), text])
        if told.kind is ValueKind.DECIMAL:
            return field.model_copy(update={"kind": told.kind})
    return field


def typed_value(field: SourceField, text: str, remembered: SourceMemory, base_url: str, now: datetime) -> Value:
    """Read a text as what its field is; raise `NotRead` if it cannot be that."""
    if len(text) > MAX_VALUE_CHARS:
        raise ValueParseError(f"It has {len(text):,} characters, and a value has at most {MAX_VALUE_CHARS:,}.")
    kind = field.kind or ValueKind.TEXT
    history = remembered.texts.get(field.key, ())
    value = parse_value(text, kind, field.unit, history, base_url=base_url, now=now)
    if value.number is not None and not isfinite(float(value.number)):
        raise ValueParseError(f"{text[:40]} is larger than any number that can be drawn.")
    return value
