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
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.request import CROSS_ORIGIN_ERROR, PLAIN_GET, RequestMethod, SourceRequest

MICROSECONDS_PER_SECOND = 1_000_000
"""Microseconds."""
LATE_READINGS_PER_SECOND = 100
"""Sources that are late at the start are read at this many a second, at most."""

T = TypeVar("T")


def next_due(address: str, interval: float, after: int) -> int:
    """Return the first moment after another, in microseconds since 1970, at which a source is due."""
    step = round(interval * MICROSECONDS_PER_SECOND)
    offset = int.from_bytes(blake2b(address.encode(), digest_size=8).digest()) % step
    return after + step - (after - offset) % step


def spread_late(number: int, now: int, interval: float) -> int:
    """Return when the *number*-th of many late sources is read: soon, but not all of them in the same second."""
    return now + min(
        number * MICROSECONDS_PER_SECOND // LATE_READINGS_PER_SECOND, round(interval * MICROSECONDS_PER_SECOND)
    )


class DueHeap(Generic[T]):
    """What is to happen when, the earliest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, at: int, what: T) -> None:
        """Add something; of two at the same moment, the one that was added first comes first."""
        self._pushed += 1
        heappush(self._heap, (at, self._pushed, what))

    def pop_until(self, now: int) -> Iterator[T]:
        """Take out all that is due."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]

    def first(self) -> int | None:
        """When the first is due."""
        return self._heap[0][0] if self._heap else None


VisitKey = tuple[Any, ...]
"""What two sources must have in common to be read by one visit."""


@dataclass(slots=True, eq=False)
class FollowedSource:
    """One source, as it was when it was last looked at."""

    id: int
    revision: int
    config: SourceConfig
    memory: AdapterMemory = field(default_factory=dict)
    """The adapter's."""
    validators: Mapping[str, str] = field(default_factory=dict)
    due_at: int = 0
    """When it is read next; 0 is at once."""
    read_at: int | None = None
    is_gone: bool = False
    """Whether it was changed, paused or removed since: another may stand for it now."""
    url: str = ""
    server: str = ""
    sent: SourceRequest = PLAIN_GET

    def __post_init__(self) -> None:
        self.url, self.sent = self.config.canonical_url, self.config.sent
        self.server = server_of(self.url)

    @property
    def needs_browser(self) -> bool:
        """Whether it is read as a browser shows it."""
        return self.config.render

    @property
    def key(self) -> VisitKey:
        """Return what it must have in common with another to be read with it."""
        config = self.config
        if self.needs_browser:
            return (self.id,)
        return (self.url, self.sent, config.robots, config.allow_private, config.max_size, config.timeout)

    def next_due(self, after: int) -> int:
        """When it is due next."""
        return next_due(self.url, self.config.interval, after)


@dataclass(slots=True, eq=False)
class StreamVisit:
    """One request to one server, for one source or for several that want the same page."""

    key: VisitKey
    url: str
    server: str
    sources: list[FollowedSource] = field(default_factory=list)
    hops: int = 0
    """Redirects that led here."""
    ready: Future[None] | None = None
    """Who waits for the server, and then visits it without us: a browser's page that needs something from there."""
    may_be_private: bool = True
    """Whether it may lead to a private address: a source's own server may be at one, others only if that one is."""
    sent: SourceRequest = PLAIN_GET
    """How the server is asked."""
    over_at: int = 0
    """When it was over, in microseconds since 1970: one moment for all its sources, which stay together by that."""
    kept: list[tuple[FollowedSource, int]] = field(default_factory=list)
    """The sources of which is kept what came, with when each is due again."""

    @property
    def config(self) -> SourceConfig:
        """The limits of the visit: those that its sources have in common."""
        return self.sources[0].config

    @property
    def needs_browser(self) -> bool:
        """Whether its server is kept until a browser is done with the page."""
        return self.sources[0].needs_browser

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask for the page only if it changed, if every source knows the same of it.

        RFC 9110, 13.1: to what is posted they would say something else.
        """
        known = self.sources[0].validators
        if self.needs_browser or self.sent.method != RequestMethod.GET or known.get("url") != self.url:
            return {}
        if any(source.validators != known for source in self.sources):
            return {}
        names = (("etag", "If-None-Match"), ("last_modified", "If-Modified-Since"))
        return {header: known[name] for name, header in names if name in known}

    def led_to(self, url: str, status: int, is_private: bool) -> StreamVisit:
        """Return the visit that a redirect leads to, or say why nobody goes there."""
        sent = self.sent.led_on(status, origin_of(url) == origin_of(self.url))
        if sent is None:
            raise InvalidResponse(CROSS_ORIGIN_ERROR.format(server=server_of(url)))
        server = server_of(url)
        may = self.config.allow_private or is_private or server == self.server
        return StreamVisit((*self.key, url), url, server, self.sources, self.hops + 1, may_be_private=may, sent=sent)
