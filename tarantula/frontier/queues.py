"""Entries of the frontier, and the queue of each server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from heapq import heappop, heappush

WINDOW_SIZE = 200
"""Waiting documents of one server in memory."""


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


class ServerQueue:
    """Window of the waiting documents of one server, lowest rank first."""

    __slots__ = (
        "_heap",
        "held",
        "in_flight",
        "known",
        "name",
        "not_before",
        "offered",
        "on_growth",
        "refilling",
        "retiring",
        "unread",
        "unstored",
    )

    def __init__(self, name: str, known: int) -> None:
        self.name = name
        self.known = known
        """Position in the order in which servers became known."""
        self.in_flight = 0
        self.not_before = 0.0
        """Earliest time of the next visit, on the frontier's clock."""
        self.held: dict[int, FrontierEntry] = {}
        """Documents by id that wait in memory, or were handed out and are not stored yet."""
        self.unstored = 0
        """How many of them were handed out."""
        self.unread = 0
        """Number of waiting rows that are only in the table."""
        self.refilling = False
        self.offered = False
        self.retiring = False
        """Whether the lease is to be released, because another collector or item waits for the server."""
        self.on_growth: Callable[[ServerQueue], object] | None = None
        """Called when the number of waiting documents grows; set by the strategy."""
        self._heap: list[tuple[int, int, FrontierEntry]] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def waiting(self) -> int:
        """Number of waiting documents, in memory or not."""
        return len(self._heap) + self.unread

    @property
    def wants_refill(self) -> bool:
        """Whether the window is nearly empty while the table has more."""
        return self.unread > 0 and not self.refilling and len(self._heap) < WINDOW_SIZE // 4

    @property
    def is_idle(self) -> bool:
        """Whether the lease may be released: no document is in flight, and none waits or the server is retiring."""
        return not (self.unstored or self.refilling) and (self.retiring or not self.waiting)

    def push(self, entry: FrontierEntry) -> None:
        """Add a new document to the window, or leave it in the table if the window is full.

        While rows wait in the table, a new one stays there too, so that it does not overtake them.
        """
        if self.unread or len(self._heap) >= WINDOW_SIZE:
            self.unread += 1
            self._notify_growth()
        else:
            self.put_back(entry)

    def put_back(self, entry: FrontierEntry) -> None:
        """Add a document to the window, even if it is full."""
        if entry.id not in self.held:
            self.held[entry.id] = entry
            heappush(self._heap, (entry.rank, entry.id, entry))
            self._notify_growth()

    def refill(self, entries: list[FrontierEntry], exhausted: bool) -> None:
        """Add the next rows of the table; *exhausted* means that it has no more."""
        for entry in entries:
            self.put_back(entry)
        self.unread = 0 if exhausted else max(1, self.unread - len(entries))
        self.refilling = False

    def pop(self) -> FrontierEntry:
        """Remove and return the first document."""
        self.in_flight += 1
        self.unstored += 1
        return heappop(self._heap)[2]

    def stored(self, entry: FrontierEntry) -> None:
        """Record that a document that was handed out is committed."""
        if self.held.pop(entry.id, None) is not None:
            self.unstored -= 1

    def _notify_growth(self) -> None:
        if self.on_growth is not None:
            self.on_growth(self)
