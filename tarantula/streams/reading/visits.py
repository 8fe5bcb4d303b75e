"""Sources in the reader's memory, when they are due, and the visit that reads one or more of them.

A source is due at every multiple of its interval, shifted by an offset derived from its address. So due times do not
drift, thousands of sources are spread over their interval, and sources of the same page are due together. A late
reading is made once; missed ones are not made up for.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from tarantula.core.urls import origin_of, server_of
from tarantula.fetch.errors import InvalidResponse
from tarantula.streams.adapters.base import AdapterMemory
from tarantula.streams.history.buckets import SECOND
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.request import PLAIN_GET, RequestMethod, SourceRequest, cross_origin_message

LATE_READINGS_PER_SECOND = 100
"""Maximum rate at which sources that are overdue at the start are read."""
T = TypeVar("T")
VisitKey = tuple[Any, ...]
"""What sources must have in common to share a visit."""


def next_due(address: str, interval: float, after: int) -> int:
    """Return the first due time after *after*, in microseconds since 1970."""
    step = round(interval * SECOND)
    offset = int.from_bytes(blake2b(address.encode(), digest_size=8).digest()) % step
    return after + step - (after - offset) % step


def spread_late(number: int, now: int, interval: float) -> int:
    """Return when the *number*-th of many overdue sources is read: soon, at a limited rate."""
    return now + min(number * SECOND // LATE_READINGS_PER_SECOND, round(interval * SECOND))


class DueHeap(Generic[T]):
    """Priority queue by due time; of equal times the first added comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, at: int, what: T) -> None:
        self._pushed += 1
        heappush(self._heap, (at, self._pushed, what))

    def pop_until(self, now: int) -> Iterator[T]:
        """Remove and yield everything that is due."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]

    def first(self) -> int | None:
        """Return the earliest due time."""
        return self._heap[0][0] if self._heap else None


@dataclass(slots=True, eq=False)
class FollowedSource:
    """A source as it was last loaded."""

    id: int
    revision: int
    config: SourceConfig
    memory: AdapterMemory = field(default_factory=dict)
    """State of the adapter."""
    validators: Mapping[str, str] = field(default_factory=dict)
    due_at: int = 0
    """Next due time in microseconds since 1970; 0 is at once."""
    read_at: int | None = None
    is_gone: bool = False
    """Whether the source was changed, paused or removed since it was loaded."""
    url: str = ""
    server: str = ""
    sent: SourceRequest = PLAIN_GET

    def __post_init__(self) -> None:
        self.url, self.sent = self.config.canonical_url, self.config.sent
        self.server = server_of(self.url)

    @property
    def needs_browser(self) -> bool:
        return self.config.render

    @property
    def key(self) -> VisitKey:
        """Return the key that sources of one visit share; rendered sources have visits of their own."""
        config = self.config
        if self.needs_browser:
            return (self.id,)
        return (self.url, self.sent, config.robots, config.allow_private, config.max_size, config.timeout)

    def next_due(self, after: int) -> int:
        return next_due(self.url, self.config.interval, after)


@dataclass(slots=True, eq=False)
class StreamVisit:
    """One request to a server, for all sources that need the same page."""

    key: VisitKey
    url: str
    server: str
    sources: list[FollowedSource] = field(default_factory=list)
    hops: int = 0
    """Number of redirects before this visit."""
    ready: Future[None] | None = None
    """Set for a visit that occupies the server for a request made elsewhere (by the browser); resolved when its turn
    comes.
    """
    sent: SourceRequest = PLAIN_GET
    """Method, headers and body of the request."""
    ended_at: int = 0
    """End of the visit in microseconds since 1970; one value for all sources, so that they stay due together."""
    stored: list[tuple[FollowedSource, int]] = field(default_factory=list)
    """Sources whose outcome is stored, with their next due time."""

    @property
    def config(self) -> SourceConfig:
        """Configuration with the limits that all sources of the visit share."""
        return self.sources[0].config

    @property
    def needs_browser(self) -> bool:
        """Whether the server stays occupied until the browser has rendered the page."""
        return self.sources[0].needs_browser

    @property
    def conditions(self) -> dict[str, str]:
        """Headers of a conditional request; empty unless all sources have the same validators.

        Only for GET: RFC 9110, 13.1, defines preconditions differently for other methods.
        """
        known = self.sources[0].validators
        if self.needs_browser or self.sent.method != RequestMethod.GET or known.get("url") != self.url:
            return {}
        if any(source.validators != known for source in self.sources):
            return {}
        names = (("etag", "If-None-Match"), ("last_modified", "If-Modified-Since"))
        return {header: known[name] for name, header in names if name in known}

    def redirected_to(self, url: str, status: int) -> StreamVisit:
        """Return the visit that a redirect leads to; raise `InvalidResponse` if the request must not go there."""
        sent = self.sent.after_redirect(status, origin_of(url) == origin_of(self.url))
        if sent is None:
            raise InvalidResponse(cross_origin_message(server_of(url)))
        return StreamVisit((*self.key, url), url, server_of(url), self.sources, self.hops + 1, sent=sent)
