"""The servers of visits: asked for before a source is due, given back when none is, wished for if others have them."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterable

from tarantula.fetch.politeness import Politeness
from tarantula.store.leases_part_server_leases import Lease
from tarantula.streams.reading.servers import ServerVisitQueue, VisitQueue
from tarantula.streams.reading.writer import ReadingGroupResult, ReadingWriter

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
