"""What came of an attempt to read a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tarantula.streams.adapters.base import DoubtfulText, SourceReading
from tarantula.streams.history import NewEvent
from tarantula.streams.sources.config import SourceConfig, SourceStatus
from tarantula.streams.sources.request import redact_secrets
from tarantula.streams.values.value import Value

FieldRow = tuple[str, str]
"""The key of a field, and the name of a row."""
NewValues = dict[FieldRow, tuple[int, Value, str]]
"""New values: when each was read, and from which text."""


@dataclass(frozen=True, slots=True)
class FailedReading:
    """Nothing came that could be read."""

    status: SourceStatus
    sentence: str

    def without_secrets(self, variables: Mapping[str, str]) -> FailedReading:
        """Return the same for everybody to read."""
        return FailedReading(self.status, redact_secrets(self.sentence, variables))


@dataclass(frozen=True, slots=True)
class UnchangedReading:
    """What came is what came before, and that was read in full."""


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """One attempt, to be kept."""

    source_id: int
    config: SourceConfig
    outcome: SourceReading | FailedReading | UnchangedReading
    at: int
    """Microseconds since 1970."""
    due_at: int | None = None
    """When it is read next; ``None`` leaves that as it is."""
    validators: Mapping[str, str] | None = None
    """With which the server is asked next time; ``None`` leaves them as they are."""
    revision: int | None = None
    """The source's, when it was read: what was read of another description is not kept. ``None`` for any."""


@dataclass(slots=True)
class IngestResult:
    """What became of it."""

    source_id: int
    config: SourceConfig
    """With the kinds that were told from the texts."""
    values: dict[FieldRow, Value] = field(default_factory=dict)
    new: NewValues = field(default_factory=dict)
    """Those that are not the ones before."""
    events: list[NewEvent] = field(default_factory=list)
    """What is new."""
    aside: list[DoubtfulText] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    status: SourceStatus = SourceStatus.NEW
    sentence: str = ""
    validators: Mapping[str, str] | None = None
    """With which the server is asked next time; ``None`` if those are as they were."""
    revision: int | None = None
    """The source's new one, if its configuration was changed by what was read."""


def new_event(series_id: int, at: int, value: Value, text: str) -> NewEvent:
    """Make an event of a value and the text that it was read from."""
    number = float(value.number) if value.number is not None else None
    return NewEvent(series_id, at, value.text, number, None if text == value.text else text)
