"""Typing of the texts of a field, the state of a source between two readings, and the outcome of a reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from math import isfinite
from typing import Any

from tarantula.core.column_types import storable_text
from tarantula.core.messages import Message
from tarantula.streams.adapters.base import AdapterMemory, DoubtfulText, ReadRow, SourceReading
from tarantula.streams.history import NewEvent
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import SourceConfig, SourceField, SourceStatus
from tarantula.streams.sources.request import redact_secrets
from tarantula.streams.values import guess_field, parse_value
from tarantula.streams.values.numbers import informative_texts
from tarantula.streams.values.value import Value, ValueParseError

LINK_ATTRIBUTES = ("href", "src")
"""Attributes whose texts are URLs."""
MAX_VALUE_CHARS = 10_000
"""Longer texts are not values."""
FieldRow = tuple[str, str]
"""Field key and row name."""


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


RANGED_KINDS = frozenset(
    {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENTAGE, ValueKind.MONEY, ValueKind.QUANTITY}
)
"""Kinds that have a usual range. Moments have none: they always increase."""
MIN_RANGE_READINGS = 5
"""Readings that are needed before outliers are recognised."""
OUTLIER_WIDTHS = 4.0
"""Distance from the range, in multiples of its width, beyond which a value is an outlier."""
RANGE_DECAY_READINGS = 50.0
"""Approximate number of readings after which a range has shrunk back from an extreme value."""
CONFIRMING_READINGS = 3
"""Similar outliers in a row that are accepted as the new range."""

UsualRange = list[float]
"""Number of readings (up to `MIN_RANGE_READINGS`), minimum, maximum."""
OutlierRun = list[float]
"""First value of a run of outliers, and their number."""


def is_outlier(number: float, usual: UsualRange | None) -> bool:
    """Whether a value is far outside the usual range."""
    if usual is None or usual[0] < MIN_RANGE_READINGS:
        return False
    _, low, high = usual
    width = max(high - low, max(abs(low), abs(high)) / 2)
    # A series that was always zero has no scale to compare with.
    return width > 0 and not low - OUTLIER_WIDTHS * width <= number <= high + OUTLIER_WIDTHS * width


def extended_range(number: float, usual: UsualRange | None) -> UsualRange:
    """Return the range with one more value."""
    if usual is None:
        return [1, number, number]
    count, low, high = usual
    return [
        min(count + 1, MIN_RANGE_READINGS),
        min(number, low + (number - low) / RANGE_DECAY_READINGS),
        max(number, high - (high - number) / RANGE_DECAY_READINGS),
    ]


def extended_run(number: float, run: OutlierRun | None) -> OutlierRun:
    """Return the run of outliers with one more value; a value that differs by more than half starts a new run."""
    if run is not None and abs(number - run[0]) <= abs(run[0]) / 2:
        return [run[0], run[1] + 1]
    return [number, 1]


def outlier_sentence(number: float, usual: UsualRange) -> str:
    """Return why a value is in doubt."""
    return Message(
        "{number:g} is far outside what is usual here, {low:g} to {high:g}.", number=number, low=usual[1], high=usual[2]
    )


@dataclass(slots=True)
class SourceMemory:
    """State of a source, stored as JSON in `SourceState.memory`; field names are the JSON keys."""

    adapter: AdapterMemory = field(default_factory=dict)
    """State of the adapter."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Distinct texts of each field, from which its number format is derived."""
    last: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    """Latest value by field and row, and the text that it was parsed from if it differs."""
    usual: dict[str, dict[str, UsualRange]] = field(default_factory=dict)
    runs: dict[str, dict[str, OutlierRun]] = field(default_factory=dict)
    """Runs of outliers by field and row."""
    guessed: list[str] = field(default_factory=list)
    """Fields whose kind was guessed."""
    rows: list[str] = field(default_factory=list)
    """Row names at the last reading, in order; empty if rows have no names."""
    news: bool = False
    """Whether each row is an event of its own, like an entry of a feed."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> SourceMemory:
        """Load the stored state as a deep copy, so that changes do not alter the stored one."""
        return cls(**{each.name: _copied(stored[each.name]) for each in fields(cls) if each.name in stored})

    def as_json(self) -> dict[str, Any]:
        """Return the non-empty fields."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}

    def note_text(self, key: str, text: str) -> None:
        """Add to the texts from which the number format of a field is derived."""
        texts = self.texts.get(key, [])
        if text not in texts:
            self.texts[key] = informative_texts(texts, text)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


NewValues = dict[FieldRow, tuple[int, Value, str]]
"""New values with the time of reading (microseconds since 1970) and the text."""


@dataclass(frozen=True, slots=True)
class FailedReading:
    """A reading that produced nothing, and why."""

    status: SourceStatus
    sentence: str

    def without_secrets(self, variables: Mapping[str, str]) -> FailedReading:
        """Return a copy whose sentence does not reveal the source's variables."""
        return FailedReading(self.status, redact_secrets(self.sentence, variables))


@dataclass(frozen=True, slots=True)
class UnchangedReading:
    """The response is the same as at the last complete reading."""


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """The outcome of one reading, to be stored."""

    source_id: int
    config: SourceConfig
    outcome: SourceReading | FailedReading | UnchangedReading
    at: int
    """Time of reading, microseconds since 1970."""
    due_at: int | None = None
    """Next due time; ``None`` leaves it unchanged."""
    validators: Mapping[str, str] | None = None
    """Validators of the response for the next conditional request; ``None`` leaves them unchanged."""
    revision: int | None = None
    """Revision of the source at the reading; the outcome is dropped if the source has another by now. ``None``: any."""


@dataclass(slots=True)
class IngestResult:
    """Stored part of a reading."""

    source_id: int
    config: SourceConfig
    """Configuration of the source, including guessed kinds."""
    values: dict[FieldRow, Value] = field(default_factory=dict)
    new: NewValues = field(default_factory=dict)
    """Values that differ from the previous ones."""
    events: list[NewEvent] = field(default_factory=list)
    aside: list[DoubtfulText] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    status: SourceStatus = SourceStatus.NEW
    sentence: str = ""
    validators: Mapping[str, str] | None = None
    """Validators that are stored now; ``None`` if they are unchanged."""
    revision: int | None = None
    """New revision of the source, if the reading changed its configuration."""


def new_event(series_id: int, at: int, value: Value, text: str) -> NewEvent:
    """Return the event of a value that was parsed from *text*."""
    number = float(value.number) if value.number is not None else None
    return NewEvent(series_id, at, value.text, number, None if text == value.text else text)
