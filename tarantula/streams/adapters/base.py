"""Adapter interface: the response it reads, and the rows, doubts and missing fields it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from tarantula.core.errors import MessageError
from tarantula.streams.suggestions import DocumentOffer, RowChoice, SuggestionGroup

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
    """Base class of adapters.

    Register a subclass under a name in ``TARANTULA_STREAM_ADAPTERS``, or give its import path as the ``adapter`` of a
    source. Only `Options`, `Place` and `read` are required; the picker and alerts use what the other members declare.
    """

    Options: ClassVar[type[BaseModel]]
    """Model of ``SourceConfig.options``."""
    Place: ClassVar[type[BaseModel]]
    """Model of ``SourceField.place``."""
    has_elements: ClassVar[bool] = False
    """Whether responses are HTML pages whose elements can be picked."""

    def check(self, source: SourceConfig) -> None:  # noqa: B027  Most have nothing to add.
        """Raise `ValueError` if options and places contradict each other."""

    @abstractmethod
    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read all fields of a source; raise `UnreadableResponse` if the response has another format."""

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, each row is an event of its own and no row is followed by name."""
        return False

    def suitability(self, response: SourceResponse) -> int:
        """Return how well the adapter suits a response in the picker: the highest wins, 0 is not at all.

        The built-in adapters return 10 to 60.
        """
        return 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Return the fields of a response, the likeliest group first; raise `UnreadableResponse` for other formats."""
        return []

    def offers(self, group: SuggestionGroup) -> Iterator[DocumentOffer]:
        """Yield the ways in which the rows of a suggested group can be followed, the likeliest first."""
        yield DocumentOffer(RowChoice.ONE, group.fields, group.options)

    def title(self, response: SourceResponse) -> str:
        """Return the title of a document, if it has one."""
        return ""


class UnreadableResponse(MessageError, ValueError):
    """The response cannot be read by this adapter; the message gives the reason."""
