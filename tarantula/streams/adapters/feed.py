"""Feed adapter: each new entry of an RSS or Atom feed is an event with its own time."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from time import struct_time
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from tarantula.links.values import join_reference
from tarantula.streams.adapters.base import (
    Adapter,
    AdapterMemory,
    BodyFormat,
    NewsRow,
    SourceReading,
    SourceResponse,
    UnreadableResponse,
    check_no_entities,
    check_not_empty,
    unseen_rows,
)
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.suggestions import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    DocumentOffer,
    FieldSuggestion,
    RowChoice,
    SuggestionGroup,
)
from tarantula.streams.texts import LONGEST_TEXT

FeedPart = Literal[
    "title", "link", "summary", "content", "author", "id", "categories", "published", "updated", "enclosure"
]
FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
FEED_ROOTS = (b"<rss", b"<feed", b"<rdf:rdf")


class FeedOptions(BaseModel):
    """Options of the `feed` adapter: none."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class EntryPlace(BaseModel):
    """Part of a feed entry."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    part: FeedPart = "title"
    """Part of each entry to read."""


class FeedAdapter(Adapter):
    """Read entries that were not seen before; entries are identified by id, else by link, else by title."""

    Options = FeedOptions
    Place = EntryPlace

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read the new entries, oldest first."""
        check_not_empty(response)
        body = blake2b(response.body, digest_size=8).hexdigest()
        if memory.get("body") == body:
            return SourceReading(memory=memory, news=True)
        places = {field.key: EntryPlace.model_validate(field.place).part for field in source.fields}
        entries = [
            NewsRow(_identity(entry), _texts(entry, places, response.url), _entry_time(entry))
            for entry in entries_of(response)
        ]
        rows, seen = unseen_rows(entries, memory, response)
        return SourceReading([row for row in rows if row.texts], memory={"body": body, **seen}, news=True)

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Entries are always news."""
        return True

    def suitability(self, response: SourceResponse) -> int:
        """Accept feed media types, and XML with the root element of a feed."""
        body = BodyFormat.of(response)
        is_feed = body.is_xml and any(root in body.start for root in FEED_ROOTS)
        return 30 if is_feed or body.media_type in FEED_TYPES else 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Suggest every part that the first entries have."""
        entries = entries_of(response)[:MOST_SAMPLES]
        fields = [
            FieldSuggestion(part, part.capitalize(), {"part": part}, texts)
            for part in get_args(FeedPart)
            if (texts := [text for one in entries if (text := text_of_part(one, part, response.url)[:LONGEST_SAMPLE])])
        ]
        return [SuggestionGroup({}, fields, [])] if fields else []

    def offers(self, group: SuggestionGroup) -> Iterator[DocumentOffer]:
        """Offer each new entry."""
        yield DocumentOffer(RowChoice.NEWS, group.fields, group.options)

    def title(self, response: SourceResponse) -> str:
        """Return the title of the feed."""
        return _plain_text(str(_parse(response).feed.get("title") or ""))


def entries_of(response: SourceResponse) -> list[dict[str, Any]]:
    """Return the entries of a feed; raise `UnreadableResponse` if it is not one."""
    return list(_parse(response).entries)


def _parse(response: SourceResponse) -> Any:
    import feedparser

    check_no_entities(response)
    headers = {"content-type": response.content_type or "application/xml", "content-location": response.url}
    try:
        # Faster than feedparser: markup is removed and URLs are resolved below, for the requested parts only.
        feed = feedparser.parse(
            response.body, response_headers=headers, sanitize_html=False, resolve_relative_uris=False
        )
    except (RecursionError, ValueError, LookupError, AttributeError) as error:
        raise UnreadableResponse("This cannot be read as a feed.") from error
    if not feed.get("version") and not feed.entries:
        raise UnreadableResponse("This is not a feed: neither RSS nor Atom.")
    return feed


def _identity(entry: dict[str, Any]) -> str:
    return str(entry.get("id") or entry.get("link") or f"{entry.get('title')}\n{entry.get('published')}")


def _texts(entry: dict[str, Any], places: dict[str, FeedPart], url: str) -> dict[str, str]:
    return {key: text for key, part in places.items() if (text := text_of_part(entry, part, url))}


def text_of_part(entry: dict[str, Any], part: FeedPart, url: str) -> str:
    """Return one part of an entry as text without markup, truncated to `LONGEST_TEXT`."""
    if part == "categories":
        return ", ".join(str(tag.get("term") or "") for tag in entry.get("tags", []))[:LONGEST_TEXT]
    if part == "enclosure":
        return _absolute_url(next((str(one.get("href") or "") for one in entry.get("enclosures", [])), ""), url)
    if part == "link":
        return _absolute_url(str(entry.get(part) or ""), url)
    if part == "content":
        return _plain_text(next((one.get("value") or "" for one in entry.get("content", [])), entry.get("summary", "")))
    # Without an update time, feedparser returns the publication time with a warning; dict.get bypasses that.
    return _plain_text(str((dict.get(entry, part) if part == "updated" else entry.get(part)) or ""))


def _absolute_url(address: str, url: str) -> str:
    return (join_reference(url, address.strip()) or "")[:LONGEST_TEXT] if address.strip() else ""


def _plain_text(text: str) -> str:
    if "<" in text or "&" in text:
        from turbohtml import parse

        from tarantula.streams.relocate.page_text import text_of

        root = parse(text).root
        body = root.select_one("body") if root is not None else None
        text = text_of(body) if body is not None else text
    return " ".join(text.split())[:LONGEST_TEXT]


def _entry_time(entry: dict[str, Any]) -> datetime | None:
    parsed = entry.get("published_parsed") or dict.get(entry, "updated_parsed")
    if not isinstance(parsed, struct_time):
        return None
    try:
        return datetime.fromtimestamp(calendar.timegm(parsed), UTC)
    except (ValueError, OverflowError, OSError):
        return None
