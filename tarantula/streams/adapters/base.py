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
"""What is remembered of a source from one reading to the next: JSON, a part for each that has something to remember."""
ACCEPTED_TEXTS = "accepted"
"""The part that holds, by the keys of fields, the doubtful texts that a person took for the value: where one of them
is found, there the field is from now on."""


@dataclass(frozen=True, slots=True)
class SourceResponse:
    """What a server sent, or what a browser made of it."""

    url: str
    body: bytes
    content_type: str = ""
    at: datetime | None = None
    """When it was asked for."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """Texts that belong together, by the keys of their fields; a field that is not there has none."""

    texts: dict[str, str]
    name: str = ""
    """Which row it is, among those that a source follows: the title of a line of a table. Nothing for the only one."""
    at: datetime | None = None
    """When it happened, if it says so itself: an entry of a feed."""


@dataclass(frozen=True, slots=True)
class DoubtfulText:
    """A text that may not be the one that was meant: it is put aside and shown, never kept as a value."""

    field: str
    text: str
    why: str
    row: str = ""


@dataclass(slots=True)
class SourceReading:
    """What was read."""

    rows: list[ReadRow] = field(default_factory=list)
    doubts: list[DoubtfulText] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Fields that are not there, with a sentence why. Missing is not zero."""
    memory: AdapterMemory = field(default_factory=dict)
    """What is to be remembered in the place of what was."""
    news: bool = False
    """Whether each row is an event of its own, with a time of its own; only those that were not there before are."""


class Adapter(ABC):
    """One way of reading."""

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    """What ``SourceConfig.options`` has to be."""
    Place: ClassVar[type[BaseModel]]
    """What the ``place`` of a field has to be."""

    def check(self, source: SourceConfig) -> None:  # noqa: B027  Most have nothing to add.
        """Refuse, with a sentence, what options and places do not say together."""

    @abstractmethod
    def read(self, answer: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read what is wanted; raise `CannotRead` if it is nothing that could be read at all."""


class UnreadableResponse(ValueError):
    """What came is not what this adapter reads: a sentence."""
