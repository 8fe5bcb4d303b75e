"""From the texts of a field to its values, with all that was read of it before."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import isfinite

from tarantula.core.columns import storable
from tarantula.streams.adapters.base import Row
from tarantula.streams.ingest.memory_part_remembered import Remembered
from tarantula.streams.kinds import Kind
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.values import guess, read_text
from tarantula.streams.values.value import NotRead, Value

LINKS = ("href", "src")
"""Attributes whose texts are addresses, however they are written."""
LONGEST = 10_000
"""Characters; what is longer is no value but a page."""


def clean(text: str) -> str:
    """Return a text as it can be kept."""
    return storable(text).strip()


def with_kinds(config: SourceConfig, rows: Iterable[Row], remembered: Remembered) -> SourceConfig:
    """Return the configuration with a kind for every field that has a text, told from what was read."""
    rows = list(rows)
    fields = tuple(_with_kind(field, rows, remembered) for field in config.fields)
    return config if fields == config.fields else config.model_copy(update={"fields": fields})


def _with_kind(field: SourceField, rows: list[Row], remembered: Remembered) -> SourceField:
    if field.kind is not None:
        return field
    texts = [text for row in rows if (text := clean(row.texts.get(field.key, ""))) and len(text) <= LONGEST]
    if not texts:
        return field
    told = guess(texts)
    if told.kind is Kind.TEXT and field.place.get("attribute") in LINKS and "regex" not in field.place:
        told = told._replace(kind=Kind.URL)
    if field.key not in remembered.guessed:
        remembered.guessed.append(field.key)
    return field.model_copy(
        update={
            "kind": told.kind,
            "unit": field.unit or told.unit,
            "aggregation": field.aggregation or told.aggregation,
        }
    )


def widened(field: SourceField, text: str, remembered: Remembered) -> SourceField:
    """Return a field that was taken for whole numbers until one came that is not, if nobody chose its kind."""
    if field.kind is Kind.INTEGER and field.key in remembered.guessed:
        told = guess([*remembered.texts.get(field.key, ()), text])
        if told.kind is Kind.DECIMAL:
            return field.model_copy(update={"kind": told.kind})
    return field


def value_of(field: SourceField, text: str, remembered: Remembered, base_url: str, now: datetime) -> Value:
    """Read a text as what its field is; raise `NotRead` if it cannot be that."""
    if len(text) > LONGEST:
        raise NotRead(f"It has {len(text):,} characters, and a value has at most {LONGEST:,}.")
    kind = field.kind or Kind.TEXT
    history = remembered.texts.get(field.key, ())
    value = read_text(text, kind, field.unit, history, base_url=base_url, now=now)
    if value.number is not None and not isfinite(float(value.number)):
        raise NotRead(f"{text[:40]} is larger than any number that can be drawn.")
    return value
