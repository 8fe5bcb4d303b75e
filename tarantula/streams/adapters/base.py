"""Base of the adapters: their interface, parsing of bodies within limits, and the rows of a reading."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import Message as Headers
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple

from lxml import etree
from pydantic import BaseModel
from turbohtml import Document, parse

from tarantula.core.errors import MessageError
from tarantula.core.messages import Message
from tarantula.fetch.media_types import media_type
from tarantula.links.charset import decode_text, encoding_by_label
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.suggestions import DocumentOffer, RowChoice, SuggestionGroup
from tarantula.streams.texts import fold_text

NOT_PAGE_TYPES = ("application/json", "application/pdf", "application/zip", "image/", "audio/", "video/", "font/")
_OTHER_SIGNATURES = (b"%PDF-", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\xff\xd8\xff", b"\x1f\x8b")
_ENTITY = re.compile(r"<!ENTITY")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
MOST_READING_ROWS = 1000
"""Maximum number of rows of one reading."""
MOST_SEEN_ROWS = 4000
"""Maximum number of remembered row identifiers."""
LONGEST_ROW_NAME = 300


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


def parse_page(response: SourceResponse) -> Document:
    """Parse a body as HTML as browsers do; raise `UnreadableResponse` if it is not HTML."""
    check_not_empty(response)
    kind, charset = type_and_charset(response.content_type)
    if kind.startswith(NOT_PAGE_TYPES) or response.body.startswith(_OTHER_SIGNATURES):
        raise UnreadableResponse("This is not an HTML page, but {kind}.", kind=kind or "something else")
    if b"<" not in response.body[:100_000]:
        raise UnreadableResponse("This is not an HTML page: it contains no markup.")
    # With scripting enabled, the content of <noscript> is ignored, as in a browser.
    return parse(
        response.body, encoding=encoding_by_label(charset), scripting=True, allow_declarative_shadow_roots=False
    )


class BodyFormat(NamedTuple):
    """Declared media type and first bytes of a response, by which an adapter recognises its format."""

    media_type: str
    start: bytes
    """First bytes in lower case, without byte order mark and white space."""

    @classmethod
    def of(cls, response: SourceResponse) -> BodyFormat:
        """Return the format of a response."""
        start = response.body[:2000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        return cls(media_type(response.content_type) or "", start)

    @property
    def is_vague(self) -> bool:
        """Whether the media type says nothing about the format."""
        return self.media_type in ("", "text/plain", "application/octet-stream")

    @property
    def is_xml(self) -> bool:
        """Whether the body is XML."""
        declared = self.media_type in ("application/xml", "text/xml") or self.media_type.endswith("+xml")
        return declared or (self.is_vague and self.start.startswith(b"<?xml"))


def check_not_empty(response: SourceResponse) -> None:
    """Raise `UnreadableResponse` if the body is empty."""
    if not response.body.strip():
        raise UnreadableResponse("The response is empty.")


@lru_cache(maxsize=1024)
def type_and_charset(content_type: str) -> tuple[str, str | None]:
    """Return the media type and the charset of a Content-Type header."""
    header = Headers()
    header["content-type"] = content_type[:200].replace("\n", " ").replace("\r", " ") or "text/html"
    charset = header.get_param("charset")
    return (header.get_content_type() if content_type else "", charset if isinstance(charset, str) else None)


def check_no_entities(response: SourceResponse) -> None:
    """Reject a document that declares entities: they can expand to any size, or refer to local files."""
    if _ENTITY.search(_decoded_text(response)):
        raise UnreadableResponse("The document declares entities and was rejected: they can expand to any size.")


def parse_xml(response: SourceResponse) -> etree._Element:
    """Return the root of an XML document; raise `UnreadableResponse` if it is not well-formed."""
    check_not_empty(response)
    text = _decoded_text(response)
    if _ENTITY.search(text):
        check_no_entities(response)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        # The text is decoded already, so its encoding declaration would be wrong.
        return etree.fromstring(_DECLARATION.sub("", text, count=1).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableResponse("This is not well-formed XML: {error}.", error=error.msg) from error
    except ValueError as error:
        raise UnreadableResponse("This is not well-formed XML: {error}.", error=error) from error


def _decoded_text(response: SourceResponse) -> str:
    _, charset = type_and_charset(response.content_type)
    return decode_text(response.body, charset)[0]


class NamedRow(NamedTuple):
    """A row with a name, before duplicates are checked."""

    name: str
    texts: dict[str, str]


def add_named_rows(rows: Sequence[NamedRow], only: Sequence[str], reading: SourceReading) -> None:
    """Add rows to a reading, all or those named in *only*; rows with equal names and different texts are doubtful."""
    chosen = {fold_text(name) for name in only}
    named = Counter(fold_text(row.name) for row in rows)
    for row in rows[:MOST_READING_ROWS]:
        name = fold_text(row.name)
        if chosen and name not in chosen:
            continue
        if named[name] > 1 and any(row.texts != other.texts for other in rows if fold_text(other.name) == name):
            why = Message("{count} rows have the name “{name}”.", count=named[name], name=row.name[:60])
            reading.doubts += [
                DoubtfulText(key, text, why, row.name[:LONGEST_ROW_NAME]) for key, text in row.texts.items()
            ]
        elif row.texts and not any(name == fold_text(other.name) for other in reading.rows if named[name] > 1):
            reading.rows.append(ReadRow(row.texts, row.name[:LONGEST_ROW_NAME]))
    _report_missing_rows([name for name in only if fold_text(name) not in named], reading)


def _report_missing_rows(names: list[str], reading: SourceReading) -> None:
    if names:
        listed = ", ".join(f"“{name[:60]}”" for name in names[:5])
        reading.missing.setdefault(
            "", Message("{count} of the chosen rows were not found: {listed}.", count=len(names), listed=listed)
        )


def mark_missing_fields(source: SourceConfig, reading: SourceReading, why: str = Message("It was not found.")) -> None:
    """Set the reason for every field that no row has; a reason for missing rows applies to every field."""
    rows_reason = reading.missing.pop("", "")
    found = {key for row in reading.rows for key in row.texts} | {doubt.field for doubt in reading.doubts}
    for wanted in source.fields:
        if wanted.key not in found:
            reading.missing.setdefault(wanted.key, rows_reason or why)
        elif rows_reason:
            reading.missing.setdefault(wanted.key, rows_reason)


class NewsRow(NamedTuple):
    """A row that is an event if it was not seen before."""

    identity: str
    """Identifier that stays the same in later readings."""
    texts: dict[str, str]
    at: datetime | None = None


def unseen_rows(
    rows: Iterable[NewsRow], memory: AdapterMemory, response: SourceResponse
) -> tuple[list[ReadRow], dict[str, Any]]:
    """Return the rows that were not seen before, oldest first, and the new adapter state.

    A row without a time gets the time of the request. Times are made distinct, so that each row is an event.
    """
    now = response.at or datetime.now(UTC)
    seen: list[str] = memory.get("seen", [])
    remembered, new, present = set(seen), list[NewsRow](), dict[str, None]()
    for row in list(rows)[:MOST_READING_ROWS]:
        digest = _digest(row.identity)
        if digest not in remembered and digest not in present:
            new.append(row)
        present[digest] = None
    new.sort(key=lambda row: min(row.at or now, now))
    events: list[ReadRow] = []
    for row in new:
        at = min(row.at or now, now)
        if events and (before := events[-1].at) is not None and at <= before:
            at = before + timedelta(microseconds=1)
        events.append(ReadRow(row.texts, at=at))
    # Keep the rows on the current page longest: the next reading will contain them.
    kept = [digest for digest in seen if digest not in present][-max(0, MOST_SEEN_ROWS - len(present)) :]
    return events, {"seen": [*kept[-max(200, 2 * len(present)) :], *present]}


def _digest(identity: str) -> str:
    return blake2b(identity.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _identity(texts: dict[str, str]) -> str:
    """Return an identifier for a row without a name: all its texts."""
    return "\n".join(f"{key}={text}" for key, text in sorted(texts.items()))


def check_key_field(source: SourceConfig, key: str, has_rows: bool) -> None:
    """Raise `ValueError` if the key is not a field, or if there are no rows to name."""
    if key and key not in {wanted.key for wanted in source.fields}:
        raise ValueError(Message("There is no field {key!r} to name the rows.", key=key[:60]))
    if key and not has_rows:
        raise ValueError(Message("A key needs rows: set the option rows."))


def add_rows_by_mode(
    rows: list[dict[str, str]],
    source: SourceConfig,
    key: str,
    only: tuple[str, ...],
    has_rows: bool,
    response: SourceResponse,
    reading: SourceReading,
) -> None:
    """Add texts to a reading as a single row, as rows followed by key, or as news."""
    if not has_rows:
        reading.rows += [ReadRow(texts) for texts in rows if texts]
        mark_missing_fields(source, reading)
    elif key:
        add_named_rows([NamedRow(texts[key], texts) for texts in rows if texts.get(key)], only, reading)
        mark_missing_fields(source, reading)
    else:
        new = [NewsRow(_identity(texts), texts) for texts in rows if texts]
        reading.rows, reading.memory = unseen_rows(new, reading.memory, response)
        reading.news = True
