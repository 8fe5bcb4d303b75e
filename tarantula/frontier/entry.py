"""Entries of the frontier: a waiting document, and the previous capture of its URL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True, frozen=True)
class PreviousCapture:
    """The newest capture of a URL in the earlier items of the publication."""

    id: int
    """Id of the document whose WARC record has the body: its own, or another one with the same body."""
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
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


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
