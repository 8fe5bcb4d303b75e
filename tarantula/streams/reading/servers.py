"""Servers of visits: one visit at a time to each, the pauses between visits, and the leases shared with collectors."""

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
"""Seconds for which a server on lease is kept though nothing is expected there."""
CONTESTED_LEASE_SECONDS = 5.0
"""Seconds for which a server that others wait for is kept while there is something to read, and left to them then."""


@dataclass(slots=True, eq=False)
class ServerVisitQueue:
    """What waits at one server."""

    name: str
    waiting: OrderedDict[VisitKey, StreamVisit] = field(default_factory=OrderedDict)
    visiting: StreamVisit | None = None
    expected: int = 0
    """Sources that are due here soon, or wait, or are being read."""
    not_before: float = 0.0
    """When it may be visited again, on the loop's clock."""
    visited_at: float | None = None
    is_held: bool = False
    is_asked: bool = False
    """Whether a lease was asked for and the answer is still to come."""
    ask_again: float = 0.0
    wanted_since: float | None = None
    contested_at: float | None = None
    left_until: float = 0.0
    """Until when it is others' alone."""
    idle_since: float = 0.0
    offered: bool = False

    def must_go(self, now: float) -> bool:
        """Whether others have waited long enough."""
        return self.contested_at is not None and now - self.contested_at >= CONTESTED_LEASE_SECONDS


class VisitQueue:
    """Hands out visits."""

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
        """Return what waits at a server."""
        if server not in self._servers:
            self._servers[server] = ServerVisitQueue(server)
        return self._servers[server]

    def add(self, source: FollowedSource) -> None:
        """Let a source wait that is due, with others that want the same page."""
        turn = self.at(source.server)
        visit = turn.waiting.get(source.key)
        if visit is None:
            visit = turn.waiting[source.key] = StreamVisit(source.key, source.url, source.server, sent=source.sent)
        if source not in visit.sources:
            visit.sources.append(source)
        self._offer(turn)

    def put(self, visit: StreamVisit) -> None:
        """Let a visit wait: one that a redirect leads to."""
        turn = self.at(visit.server)
        turn.waiting[visit.key] = visit
        self._offer(turn)

    def hold(self, server: str, not_before: float) -> None:
        """Hear that a server is on lease."""
        turn = self.at(server)
        turn.is_held, turn.contested_at, turn.wanted_since = True, None, None
        turn.not_before = max(turn.not_before, not_before)
        self._offer(turn)

    def lose(self, server: str, now: float) -> None:
        """Hear that a server is not on lease any more."""
        turn = self.at(server)
        if turn.contested_at is not None:
            turn.left_until = now + CONTESTED_LEASE_SECONDS
        turn.is_held, turn.contested_at = False, None
        self._forget(turn, now)

    def next(self, now: float) -> StreamVisit | None:
        """Hand out the next visit to a server that may be visited now."""
        while self._ready and self._ready[0][0] <= now:
            turn = heappop(self._ready)[2]
            turn.offered = False
            if not turn.is_held or turn.visiting or not turn.waiting or turn.must_go(now):
                continue
            if turn.not_before > now:
                self._offer(turn)
                continue
            visit = turn.waiting.popitem(last=False)[1]
            staying = [source for source in visit.sources if not source.is_gone]
            turn.expected -= len(visit.sources) - len(staying)
            visit.sources = staying
            if not visit.sources and visit.ready is None:
                self._offer(turn)
                continue
            turn.visiting = visit
            self.in_flight += 1
            return visit
        return None

    def next_due(self) -> float | None:
        """When the first pause is over, if something waits for that."""
        return self._ready[0][0] if self._ready else None

    def release(self, entry: StreamVisit, not_before: float) -> None:
        """Hear that a visit is over, and when the server may be visited again; nothing of it was asked if that is 0."""
        turn = self.at(entry.server)
        if turn.visiting is not entry:
            return
        turn.visiting = None
        self.in_flight -= 1
        turn.not_before = max(turn.not_before, not_before)
        self._offer(turn)

    def visited(self, server: str, now: float) -> None:
        """Hear when a server was last asked for something."""
        self.at(server).visited_at = now

    def postpone(self, server: str, not_before: float) -> None:
        """Hear of a visit that was not handed out here."""
        turn = self.at(server)
        turn.not_before = max(turn.not_before, not_before)

    def expect(self, server: str) -> None:
        """Hear that a source is due here soon."""
        self.at(server).expected += 1

    def done(self, server: str, now: float) -> None:
        """Hear that one of those that were expected has been read."""
        turn = self.at(server)
        turn.expected = max(turn.expected - 1, 0)
        turn.idle_since = now
        self._forget(turn, now)

    def idle(self, now: float) -> list[ServerVisitQueue]:
        """Return the servers on lease that are to be given back: nothing is expected there, or others wait for them."""
        return [turn for turn in self._servers.values() if turn.is_held and not turn.visiting and _is_idle(turn, now)]

    def wanted(self, now: float) -> list[ServerVisitQueue]:
        """Return the servers for which a lease is to be asked."""
        return [
            turn
            for turn in self._servers.values()
            if turn.expected
            and not (turn.is_held or turn.is_asked)
            and max(turn.ask_again, turn.left_until, turn.not_before - 1.0) <= now
        ]

    def _offer(self, turn: ServerVisitQueue) -> None:
        if turn.is_held and turn.waiting and not (turn.offered or turn.visiting):
            turn.offered = True
            self._offers += 1
            heappush(self._ready, (turn.not_before, self._offers, turn))

    def _forget(self, turn: ServerVisitQueue, now: float) -> None:
        if (
            not (turn.expected or turn.is_held or turn.is_asked or turn.visiting or turn.waiting)
            and max(turn.not_before, turn.left_until) <= now
        ):
            self._servers.pop(turn.name, None)


def _is_idle(turn: ServerVisitQueue, now: float) -> bool:
    if turn.contested_at is not None and (not turn.waiting or turn.must_go(now)):
        return True
    if turn.not_before - now > 2 * IDLE_LEASE_SECONDS:
        return True
    return not turn.expected and not turn.waiting and now - turn.idle_since >= IDLE_LEASE_SECONDS


class ServerDelays(Mapping[str, float]):
    """The longest that a source wants at each server, or what was decided for the server."""

    def __init__(self) -> None:
        self.own: dict[str, float] = {}
        """Those of servers that have one of their own."""
        self._wanted: dict[str, dict[int, float]] = {}
        self._longest: dict[str, float] = {}

    def note(self, source: FollowedSource) -> None:
        """Take note of what a source wants."""
        self._wanted.setdefault(source.server, {})[source.id] = source.config.delay
        self._longest[source.server] = max(self._longest.get(source.server, 0.0), source.config.delay)

    def forget(self, source: FollowedSource) -> None:
        """Forget what a source wanted."""
        wanted = self._wanted.get(source.server, {})
        if wanted.pop(source.id, None) == self._longest.get(source.server):
            self._longest.pop(source.server, None)
            if wanted:
                self._longest[source.server] = max(wanted.values())
        if not wanted:
            self._wanted.pop(source.server, None)

    def __getitem__(self, server: str) -> float:
        return self.own[server] if server in self.own else self._longest[server]

    def __iter__(self) -> Iterator[str]:
        return iter({*self.own, *self._longest})

    def __len__(self) -> int:
        return len({*self.own, *self._longest})

    def __contains__(self, server: object) -> bool:
        return server in self.own or server in self._longest


LEASE_RETRY_SECONDS = 0.5
"""Seconds between two tries at a server that others have."""
LEASE_REQUEST_SECONDS = 3.0
"""Seconds between two words to them."""


class ServerLeaseManager:
    """Has each server on lease for as long as there is something to visit there, and no longer."""

    def __init__(
        self,
        turns: VisitQueue,
        politeness: Politeness,
        keeper: ReadingWriter,
        loop: AbstractEventLoop,
        on_work: Callable[[], None],
    ) -> None:
        self._turns = turns
        self._politeness = politeness
        self._keeper = keeper
        self._loop = loop
        self._on_work = on_work
        self._wished: dict[str, float] = {}

    def look(self) -> None:
        """See which servers are needed, and which are not any more."""
        now = self._loop.time()
        self.give_back(self._turns.idle(now))
        wanted = self._turns.wanted(now)
        if wanted:
            for turn in wanted:
                turn.is_asked = True
                turn.wanted_since = turn.wanted_since or now
            asked = self._keeper.take({turn.name: self._politeness.pause(turn.name) for turn in wanted})
            asked.add_done_callback(lambda future: self._taken(wanted, future))
        self._wish(
            [turn for turn in wanted if turn.waiting and now - (turn.wanted_since or now) >= LEASE_RETRY_SECONDS], now
        )

    def hear(self, news: ReadingGroupResult) -> None:
        """Take in which servers were lost, and which are wanted by others."""
        now = self._loop.time()
        for server in news.lost:
            self._turns.lose(server, now)
        for server in news.contested:
            turn = self._turns.at(server)
            turn.contested_at = turn.contested_at or now

    def give_back(self, turns: Iterable[ServerVisitQueue]) -> None:
        """Let others have those that nobody is visiting."""
        now = self._loop.time()
        held = [turn for turn in turns if turn.is_held and turn.visiting is None]
        if held:
            self._keeper.give_back(
                {turn.name: max(turn.not_before - now, 0.0) for turn in held},
                {turn.name: now - turn.visited_at for turn in held if turn.visited_at is not None},
            )
            for turn in held:
                self._turns.lose(turn.name, now)

    def _taken(self, asked: list[ServerVisitQueue], future: Future[list[Lease]]) -> None:
        now = self._loop.time()
        for turn in asked:
            turn.is_asked, turn.ask_again = False, now + LEASE_RETRY_SECONDS
        if future.cancelled() or future.exception() is not None:
            return
        for lease in future.result():
            self._turns.hold(lease.server, now + lease.wait)
        self._on_work()

    def _wish(self, turns: list[ServerVisitQueue], now: float) -> None:
        names = [turn.name for turn in turns if now - self._wished.get(turn.name, 0.0) >= LEASE_REQUEST_SECONDS]
        if names:
            self._wished = {name: at for name, at in self._wished.items() if now - at < LEASE_REQUEST_SECONDS}
            self._wished.update(dict.fromkeys(names, now))
            self._keeper.wish(names)
