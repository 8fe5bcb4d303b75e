"""Scrapy items: what the frontier hands out and what the spider hands to the pipelines.

In Tarântula's own vocabulary an *item* is one collection of a publication in time (`tarantula.models.Item`);
the classes here are items in Scrapy's sense only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tarantula.core.reasons import Reason, as_reason
from tarantula.fetch.exchange import Exchange
from tarantula.frontier.queues import FrontierEntry, PreviousCapture
from tarantula.links.link import Link

__all__ = ["CollectedDocument", "FrontierEntry", "PreviousCapture"]


@dataclass(slots=True)
class CollectedDocument:
    """A document with its final state, its bytes and its links."""

    entry: FrontierEntry
    state: int
    why: Reason
    rule: str | None = None
    type: str | None = None
    encoding: str | None = None
    """The encoding in which its links were read, if it is a text that holds links."""
    size: int | None = None
    collected_at: datetime | None = None
    exchange: Exchange | None = None
    rendered: bytes | None = None
    links: list[Link] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """The English sentence of `why`."""
        return self.why.sentence()

    @reason.setter
    def reason(self, text: str) -> None:
        """Replace the reason by a sentence, or add a note, if *text* begins with the reason."""
        before = self.reason
        if before and text.startswith(before):
            if added := text.removeprefix(before).strip():
                self.why = self.why.with_note(as_reason(added))
        else:
            self.why = as_reason(text)
