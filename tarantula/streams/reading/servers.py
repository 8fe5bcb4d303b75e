"""Servers that the stream reader visits: one visit at a time, pauses between visits, leases shared with collectors.

This is not the queue of the frontier (`frontier.queues`), although both keep pauses. The frontier holds a window of
rows for each leased server, which is refilled from the table, and a strategy orders the servers; it is the hot path of
a collection. Here a server has few visits, sources of one page join a visit, and a lease is taken when a source is due
and returned after seconds.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tarantula.fetch.politeness import Politeness
from tarantula.store.leases import Lease
from tarantula.streams.reading.visits import FollowedSource, StreamVisit, VisitKey
from tarantula.streams.reading.writer import ReadingGroupResult, ReadingWriter

IDLE_LEASE_SECONDS = 3.0
"""Time for which the lease of a server without due sources is kept."""
CONTESTED_LEASE_SECONDS = 5.0
"""Time for which a server is kept while others request it, and for which it is left to them afterwards."""
LEASE_RETRY_SECONDS = 0.5
"""Time between two requests for the lease of a server."""
LEASE_REQUEST_SECONDS = 3.0
"""Time between two requests to the holders of a lease to return it."""


@dataclass(slots=True, eq=False)
class ServerVisitQueue:
    """Visits that wait at one server, and the state of its lease."""

    name: str
    waiting: OrderedDict[VisitKey, StreamVisit] = field(default_factory=OrderedDict)
    visiting: StreamVisit | None = None
    expected: int = 0
    """Sources that are due soon, wait, or are being read."""
    not_before: float = 0.0
    """Earliest time of the next visit, on the loop's clock."""
    visited_at: float | None = None
    is_held: bool = False
    is_requested: bool = False
    """Whether a lease was requested and the answer is pending."""
    retry_at: float = 0.0
    needed_since: float | None = None
    contested_at: float | None = None
    yielded_until: float = 0.0
    """Time until which the server is left to other processes."""
    idle_since: float = 0.0
    is_offered: bool = False

    def is_overdue_for_others(self, now: float) -> bool:
        """Whether other processes have waited long enough."""
        return self.contested_at is not None and now - self.contested_at >= CONTESTED_LEASE_SECONDS


class VisitQueue:
    """Queue of visits over all servers: one visit at a time to each, none during its pause or without its lease."""

    def __init__(self) -> None:
        self._servers: dict[str, ServerVisitQueue] = {}
        self._ready: list[tuple[float, int, ServerVisitQueue]] = []
        self._offers = 0
        self.in_flight = 0

    def __iter__(self) -> Iterator[ServerVisitQueue]:
        return iter(list(self._servers.values()))

    def __len__(self) -> int:
        return len(self._servers)

    def at(self, server: str) -> ServerVisitQueue:
        """Return the queue of a server, which is created if needed."""
        if server not in self._servers:
            self._servers[server] = ServerVisitQueue(server)
        return self._servers[server]

    def add(self, source: FollowedSource) -> None:
        """Queue a due source; sources of the same page share a visit."""
        server_queue = self.at(source.server)
        visit = server_queue.waiting.get(source.key)
        if visit is None:
            visit = server_queue.waiting[source.key] = StreamVisit(
                source.key, source.url, source.server, sent=source.sent
            )
        if source not in visit.sources:
            visit.sources.append(source)
        self._offer(server_queue)

    def put(self, visit: StreamVisit) -> None:
        """Queue a visit, such as the target of a redirect."""
        server_queue = self.at(visit.server)
        server_queue.waiting[visit.key] = visit
        self._offer(server_queue)

    def hold(self, server: str, not_before: float) -> None:
        """Record that the lease of a server was granted."""
        server_queue = self.at(server)
        server_queue.is_held, server_queue.contested_at, server_queue.needed_since = True, None, None
        server_queue.not_before = max(server_queue.not_before, not_before)
        self._offer(server_queue)

    def lose(self, server: str, now: float) -> None:
        """Record that the lease of a server was lost or returned."""
        server_queue = self.at(server)
        if server_queue.contested_at is not None:
            server_queue.yielded_until = now + CONTESTED_LEASE_SECONDS
        server_queue.is_held, server_queue.contested_at = False, None
        self._forget(server_queue, now)

    def next(self, now: float) -> StreamVisit | None:
        """Return the next visit to a server that may be visited now; ``None`` if there is none."""
        while self._ready and self._ready[0][0] <= now:
            server_queue = heappop(self._ready)[2]
            server_queue.is_offered = False
            if (
                not server_queue.is_held
                or server_queue.visiting
                or not server_queue.waiting
                or server_queue.is_overdue_for_others(now)
            ):
                continue
            if server_queue.not_before > now:
                self._offer(server_queue)
                continue
            visit = server_queue.waiting.popitem(last=False)[1]
            current = [source for source in visit.sources if not source.is_gone]
            server_queue.expected -= len(visit.sources) - len(current)
            visit.sources = current
            if not visit.sources and visit.ready is None:
                self._offer(server_queue)
                continue
            server_queue.visiting = visit
            self.in_flight += 1
            return visit
        return None

    def next_due(self) -> float | None:
        """Return when the first pause with waiting visits ends."""
        return self._ready[0][0] if self._ready else None

    def release(self, entry: StreamVisit, not_before: float) -> None:
        """End a visit; *not_before* is the end of the pause, or 0 if nothing was requested."""
        server_queue = self.at(entry.server)
        if server_queue.visiting is not entry:
            return
        server_queue.visiting = None
        self.in_flight -= 1
        server_queue.not_before = max(server_queue.not_before, not_before)
        self._offer(server_queue)

    def visited(self, server: str, now: float) -> None:
        """Record the time of the last request to a server."""
        self.at(server).visited_at = now

    def postpone(self, server: str, not_before: float) -> None:
        """Extend the pause of a server after a request that did not come from this queue."""
        server_queue = self.at(server)
        server_queue.not_before = max(server_queue.not_before, not_before)

    def expect(self, server: str) -> None:
        """Count a source of the server as due soon."""
        self.at(server).expected += 1

    def done(self, server: str, now: float) -> None:
        """Count an expected source of the server as read."""
        server_queue = self.at(server)
        server_queue.expected = max(server_queue.expected - 1, 0)
        server_queue.idle_since = now
        self._forget(server_queue, now)

    def idle(self, now: float) -> list[ServerVisitQueue]:
        """Return the servers whose leases should be returned: nothing is expected there, or others wait for them."""
        return [
            server_queue
            for server_queue in self._servers.values()
            if server_queue.is_held and not server_queue.visiting and _is_idle(server_queue, now)
        ]

    def needing_lease(self, now: float) -> list[ServerVisitQueue]:
        """Return the servers whose leases should be requested."""
        return [
            server_queue
            for server_queue in self._servers.values()
            if server_queue.expected
            and not (server_queue.is_held or server_queue.is_requested)
            and max(server_queue.retry_at, server_queue.yielded_until, server_queue.not_before - 1.0) <= now
        ]

    def _offer(self, server_queue: ServerVisitQueue) -> None:
        if server_queue.is_held and server_queue.waiting and not (server_queue.is_offered or server_queue.visiting):
            server_queue.is_offered = True
            self._offers += 1
            heappush(self._ready, (server_queue.not_before, self._offers, server_queue))

    def _forget(self, server_queue: ServerVisitQueue, now: float) -> None:
        if (
            not (
                server_queue.expected
                or server_queue.is_held
                or server_queue.is_requested
                or server_queue.visiting
                or server_queue.waiting
            )
            and max(server_queue.not_before, server_queue.yielded_until) <= now
        ):
            self._servers.pop(server_queue.name, None)


def _is_idle(server_queue: ServerVisitQueue, now: float) -> bool:
    if server_queue.contested_at is not None and (not server_queue.waiting or server_queue.is_overdue_for_others(now)):
        return True
    if server_queue.not_before - now > 2 * IDLE_LEASE_SECONDS:
        return True
    return (
        not server_queue.expected and not server_queue.waiting and now - server_queue.idle_since >= IDLE_LEASE_SECONDS
    )


class ServerDelays(Mapping[str, float]):
    """Pause of each server: from its server settings, or the longest that its sources ask for."""

    def __init__(self) -> None:
        self.own: dict[str, float] = {}
        """Pauses from the server settings."""
        self._by_source: dict[str, dict[int, float]] = {}
        self._longest: dict[str, float] = {}

    def add(self, source: FollowedSource) -> None:
        self._by_source.setdefault(source.server, {})[source.id] = source.config.delay
        self._longest[source.server] = max(self._longest.get(source.server, 0.0), source.config.delay)

    def remove(self, source: FollowedSource) -> None:
        delays = self._by_source.get(source.server, {})
        if delays.pop(source.id, None) == self._longest.get(source.server):
            self._longest.pop(source.server, None)
            if delays:
                self._longest[source.server] = max(delays.values())
        if not delays:
            self._by_source.pop(source.server, None)

    def __getitem__(self, server: str) -> float:
        return self.own[server] if server in self.own else self._longest[server]

    def __iter__(self) -> Iterator[str]:
        return iter({*self.own, *self._longest})

    def __len__(self) -> int:
        return len({*self.own, *self._longest})

    def __contains__(self, server: object) -> bool:
        return server in self.own or server in self._longest


class ServerLeaseManager:
    """Holds the leases of servers as long as visits are due there."""

    def __init__(
        self,
        queue: VisitQueue,
        politeness: Politeness,
        writer: ReadingWriter,
        loop: AbstractEventLoop,
        on_work: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._politeness = politeness
        self._writer = writer
        self._loop = loop
        self._on_work = on_work
        self._requested_at: dict[str, float] = {}

    def update(self) -> None:
        """Return the leases that are idle, and request those that are needed."""
        now = self._loop.time()
        self.return_leases(self._queue.idle(now))
        needed = self._queue.needing_lease(now)
        if needed:
            for server_queue in needed:
                server_queue.is_requested = True
                server_queue.needed_since = server_queue.needed_since or now
            granted = self._writer.take_leases(
                {server_queue.name: self._politeness.pause(server_queue.name) for server_queue in needed}
            )
            granted.add_done_callback(lambda future: self._on_granted(needed, future))
        self._request_from_others(
            [
                server_queue
                for server_queue in needed
                if server_queue.waiting and now - (server_queue.needed_since or now) >= LEASE_RETRY_SECONDS
            ],
            now,
        )

    def apply(self, result: ReadingGroupResult) -> None:
        """Apply which leases were lost, and which are requested by others."""
        now = self._loop.time()
        for server in result.lost:
            self._queue.lose(server, now)
        for server in result.contested:
            server_queue = self._queue.at(server)
            server_queue.contested_at = server_queue.contested_at or now

    def return_leases(self, servers: Iterable[ServerVisitQueue]) -> None:
        """Return the leases of servers that are not being visited."""
        now = self._loop.time()
        held = [server_queue for server_queue in servers if server_queue.is_held and server_queue.visiting is None]
        if held:
            self._writer.return_leases(
                {server_queue.name: max(server_queue.not_before - now, 0.0) for server_queue in held},
                {
                    server_queue.name: now - server_queue.visited_at
                    for server_queue in held
                    if server_queue.visited_at is not None
                },
            )
            for server_queue in held:
                self._queue.lose(server_queue.name, now)

    def _on_granted(self, requested: list[ServerVisitQueue], future: Future[list[Lease]]) -> None:
        now = self._loop.time()
        for server_queue in requested:
            server_queue.is_requested, server_queue.retry_at = False, now + LEASE_RETRY_SECONDS
        if future.cancelled() or future.exception() is not None:
            return
        for lease in future.result():
            self._queue.hold(lease.server, now + lease.wait)
        self._on_work()

    def _request_from_others(self, servers: list[ServerVisitQueue], now: float) -> None:
        names = [
            server_queue.name
            for server_queue in servers
            if now - self._requested_at.get(server_queue.name, 0.0) >= LEASE_REQUEST_SECONDS
        ]
        if names:
            self._requested_at = {
                name: at for name, at in self._requested_at.items() if now - at < LEASE_REQUEST_SECONDS
            }
            self._requested_at.update(dict.fromkeys(names, now))
            self._writer.request_from_others(names)
