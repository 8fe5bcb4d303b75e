"""Documents that are no pages: told by their type, and offered with what can be followed in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import extension_of, media_type
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.adapters.feed import title_of_feed
from tarantula.streams.suggest import FieldSuggestion, SuggestionGroup, suggest

PAGE_TYPES = ("text/html", "application/xhtml+xml")
FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
_ROOTS_OF_FEEDS = (b"<rss", b"<feed", b"<rdf:rdf")


class RowChoice(StrEnum):
    """Rows of a document to follow."""

    ONE = "one"
    """A single row."""
    LAST = "last"
    FIRST = "first"
    NAMED = "named"
    """All rows by name."""
    NEWS = "news"
    """New rows as events."""
    NEXT = "next"
    """The next events of a calendar."""


@dataclass(frozen=True, slots=True)
class DocumentOffer:
    """One way to read a document."""

    adapter: str
    rows: RowChoice
    values: list[FieldSuggestion]
    options: dict[str, Any] = field(default_factory=dict)
    named_by: FieldSuggestion | None = None
    """The value that names the rows."""

    @property
    def where(self) -> str:
        """Path of the list within the document, if it has several."""
        return str(self.options.get("rows", "")) if self.adapter == "json" else ""


def is_page(answer: SourceResponse) -> bool:
    """Whether elements of the response can be picked."""
    return adapter_for_response(answer) == "page"


def adapter_for_response(answer: SourceResponse) -> str:
    """Return the name of the adapter that reads the response; empty if none does."""
    kind, start = media_type(answer.content_type), answer.body[:2000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    vague = kind in (None, "text/plain", "application/octet-stream")
    is_xml = (
        kind in ("application/xml", "text/xml") or (kind or "").endswith("+xml") or (vague and start[:5] == b"<?xml")
    )
    if kind in PAGE_TYPES or (vague and start[:1] == b"<" and not is_xml):
        return "page"
    if (kind or "").endswith(("/json", "+json")) or (vague and start[:1] in (b"{", b"[")):
        return "json"
    if kind == "text/calendar" or start.startswith(b"begin:vcalendar"):
        return "ical"
    if kind in FEED_TYPES or (is_xml and any(mark in start for mark in _ROOTS_OF_FEEDS)):
        return "feed"
    if is_xml:
        return "xml"
    is_table = kind in ("text/csv", "text/tab-separated-values") or extension_of(answer.url) in ("csv", "tsv")
    return "csv" if is_table or vague else ""


def offers_of(answer: SourceResponse) -> list[DocumentOffer]:
    """Return the offers of a document that is not an HTML page; raise `TarantulaError` if there are none."""
    adapter = adapter_for_response(answer)
    if not adapter:
        kind = media_type(answer.content_type)
        raise TarantulaError(f"This is {kind}, which no adapter reads. Use another address.")
    try:
        found = [offer for suggestions in suggest(answer, adapter) for offer in _offers(adapter, suggestions)]
    except UnreadableResponse as error:
        raise TarantulaError(str(error)) from error
    if not found:
        raise TarantulaError("This document contains no value to follow.")
    return found


def document_title(answer: SourceResponse) -> str:
    """Return the title of a document that is not an HTML page, if it has one."""
    if adapter_for_response(answer) != "feed":
        return ""
    try:
        return title_of_feed(answer)[:200]
    except UnreadableResponse:
        return ""


def _offers(adapter: str, found: SuggestionGroup) -> Iterator[DocumentOffer]:
    match adapter:
        case "csv":
            for rows in (RowChoice.LAST, RowChoice.FIRST, RowChoice.NEWS):
                yield DocumentOffer(adapter, rows, found.fields, {**found.options, "rows": str(rows)})
        case "json" if found.options:
            naming = next(filter(_names, found.fields), None)
            if naming is not None:
                yield DocumentOffer(adapter, RowChoice.NAMED, found.fields, found.options, naming)
            yield DocumentOffer(adapter, RowChoice.NEWS, found.fields, found.options)
        case "feed":
            yield DocumentOffer(adapter, RowChoice.NEWS, found.fields, found.options)
        case "ical":
            yield DocumentOffer(adapter, RowChoice.NEXT, found.fields, found.options)
        case _:
            yield DocumentOffer(adapter, RowChoice.ONE, found.fields, found.options)


def _names(suggestion: FieldSuggestion) -> bool:
    """Whether the samples of a field are distinct words, so that it can name rows."""
    texts = suggestion.samples
    return len(texts) > 1 and len(set(texts)) == len(texts) and all(text[:1].isalpha() for text in texts)
