"""Outcomes of reading a source: what is passed to ingestion, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tarantula.streams.adapters.base import DoubtfulText, SourceReading
from tarantula.streams.history import NewEvent
from tarantula.streams.sources.config import SourceConfig, SourceStatus
from tarantula.streams.sources.request import redact_secrets
from tarantula.streams.values.value import Value

FieldRow = tuple[str, str]
"""Field key and row name."""
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
