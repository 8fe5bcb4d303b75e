"""What every adapter is: it makes rows of texts of what a server sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from tarantula.streams.sources.config import SourceConfig

AdapterMemory = dict[str, Any]
"""Adapter state stored between two readings of a source, as JSON; each part of the reader has its own key."""
ACCEPTED_TEXTS = "accepted"
"""Key of the texts that a person accepted, by field key: a field moves to the place where its text is found."""


@dataclass(frozen=True, slots=True)
class SourceResponse:
    """The body that a server sent, or the page that a browser rendered."""

    url: str
    body: bytes
    content_type: str = ""
    at: datetime | None = None
    """When the request was sent."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """Texts of one row by field key; fields that were not found are absent."""

    texts: dict[str, str]
    name: str = ""
    """Name of the row among the followed rows, such as the row title of a table; empty for a single row."""
    at: datetime | None = None
    """Time of the event if the row gives one, as feed entries do."""


@dataclass(frozen=True, slots=True)
class DoubtfulText:
    """A text that may be another value: it is put aside for review and not stored as a value."""

    field: str
    text: str
    why: str
    row: str = ""


@dataclass(slots=True)
class SourceReading:
    """Result of reading one response."""

    rows: list[ReadRow] = field(default_factory=list)
    doubts: list[DoubtfulText] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Reason by key of each field that was not found. A missing value is not zero."""
    memory: AdapterMemory = field(default_factory=dict)
    """State that replaces the stored state."""
    news: bool = False
    """Whether each row is an event with its own time; rows seen before are omitted."""


class Adapter(ABC):
    """Base class of adapters. The picker and alerts use only what an adapter declares here."""

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    """Model of ``SourceConfig.options``."""
    Place: ClassVar[type[BaseModel]]
    """Model of ``SourceField.place``."""

    def check(self, source: SourceConfig) -> None:  # noqa: B027  Most have nothing to add.
        """Raise `ValueError` if options and places contradict each other."""

    @abstractmethod
    def read(self, answer: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read all fields of a source; raise `UnreadableResponse` if the response has another format."""


class UnreadableResponse(ValueError):
    """The response cannot be read by this adapter; the message gives the reason."""
