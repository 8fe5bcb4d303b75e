"""Scrapy items: what the frontier hands out and what the spider hands to the pipelines.

In Tarântula's own vocabulary an *item* is one collection of a publication in time (`tarantula.models.Item`);
the classes here are items in Scrapy's sense only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tarantula.fetch.exchange import Exchange
from tarantula.links.link import Link


@dataclass(slots=True, frozen=True)
class PreviousCapture:
    """The newest capture of a URL in the earlier items of the publication."""

    id: int
    """The document whose WARC record has the body: this one, or another with the same body."""
    url: str
    collected_at: datetime
    urn: str
    """The item that has the record."""
    warc: str
    offset: int
    digest: str
    size: int | None
    type: str | None
    charset: str | None
    etag: str | None = None
    last_modified: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """Headers of a conditional request."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


@dataclass(slots=True)
class FrontierEntry:
    """A waiting document that the frontier hands out."""

    id: int
    url: str
    server: str
    depth: int
    kind: int
    rank: int = 0
    redirects: int = 0
    tries: int = 0
    earlier: PreviousCapture | None = None


@dataclass(slots=True)
class CollectedDocument:
    """A document with its final state, its bytes and its links."""

    entry: FrontierEntry
    state: int
    reason: str
    rule: str | None = None
    type: str | None = None
    size: int | None = None
    collected_at: datetime | None = None
    exchange: Exchange | None = None
    rendered: bytes | None = None
    links: list[Link] = field(default_factory=list)
