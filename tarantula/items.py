"""What the spider hands to the pipelines: a document at the end of its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tarantula.download.exchange import Exchange
from tarantula.links.link import Link


@dataclass(slots=True)
class Entry:
    """A waiting document, as the frontier hands it out."""

    id: int
    url: str
    server: str
    depth: int
    kind: int
    rank: int = 0
    redirects: int = 0
    tries: int = 0


@dataclass(slots=True)
class CollectedDocument:
    """A document with its final state, its bytes, and the links that it names."""

    entry: Entry
    state: int
    reason: str
    rule: str | None = None
    type: str | None = None
    size: int | None = None
    collected_at: datetime | None = None
    exchange: Exchange | None = None
    rendered: bytes | None = None
    links: list[Link] = field(default_factory=list)
