"""Scrapy items: what the frontier hands out and what the spider hands to the pipelines.

In Tarântula's own vocabulary an *item* is one collection of a publication in time (`tarantula.models.Item`);
the classes here are items in Scrapy's sense only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tarantula.fetch.exchange import Exchange
from tarantula.frontier.entry import FrontierEntry, PreviousCapture
from tarantula.links.link import Link

__all__ = ["CollectedDocument", "FrontierEntry", "PreviousCapture"]


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
