"""Strategies: the order of the servers that may be visited now.

Within a server the order is always the same: smaller path depth first, then the document that was known first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from tarantula.core.registry import Registry
from tarantula.frontier.queues import ServerQueue

SPARE_ENTRIES = 16
"""Outdated heap entries beyond twice the number of servers before the heap is rebuilt."""


class StrategyServer(Protocol):
    """Attributes of a server that a strategy may use."""

    name: str
    known: int
    """Unique position in the order in which servers became known."""
    on_growth: Callable[[Any], object] | None
    """Called by the server when its number of waiting documents grows."""

    @property
    def waiting(self) -> int:
        """Number of waiting documents."""

    def __len__(self) -> int:
        """Return how many of them are in memory."""


Q = TypeVar("Q", bound=StrategyServer, default=ServerQueue)


class Strategy(ABC, Generic[Q]):
    """Collection of servers that may be visited; returns the one to visit next."""

    @abstractmethod
    def offer(self, queue: Q) -> None:
        """Add a server with waiting documents that may be visited. It is not offered again before it is taken."""

    @abstractmethod
    def take(self) -> Q | None:
        """Remove and return the server to visit next, or ``None``."""


class DepthFirst(Strategy[Q]):
    """All documents of a server before the next server; servers known first come first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Q]] = []

    def offer(self, queue: Q) -> None:
        heappush(self._heap, (queue.known, queue))

    def take(self) -> Q | None:
        return heappop(self._heap)[1] if self._heap else None


class BreadthFirst(Strategy[Q]):
    """One document of each server in turn, in the order in which they became known, continuing after the last one."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Q]] = []
        self._round = 0
        self._last = -1

    def offer(self, queue: Q) -> None:
        its_round = self._round + (queue.known <= self._last)
        heappush(self._heap, (its_round, queue.known, queue))

    def take(self) -> Q | None:
        if not self._heap:
            return None
        its_round, known, queue = heappop(self._heap)
        # A server whose documents were taken out of turn is skipped, and the round does not advance.
        if queue.waiting:
            self._round, self._last = its_round, known
        return queue


class BestFirst(Strategy[Q]):
    """One document of the server with most waiting documents; ties go to the server known first.

    Heap entries are not moved when a count changes. An entry with too high a count is corrected when it is popped; a
    server that grew gets a second entry, and the outdated one is skipped.
    """

    def __init__(self) -> None:
        self._offered: dict[int, Q] = {}
        self._grown: set[Q] = set()
        self._heap: list[tuple[int, int]] = []

    def offer(self, queue: Q) -> None:
        self._offered[queue.known] = queue
        queue.on_growth = self._grown.add
        self._push(queue)

    def take(self) -> Q | None:
        if self._grown:
            self._add_grown()
        while self._heap:
            count, known = heappop(self._heap)
            queue = self._offered.get(known)
            if queue is None:
                continue
            if queue.waiting == -count:
                return self._remove(queue)
            self._push(queue)
        return None

    def _push(self, queue: Q) -> None:
        heappush(self._heap, (-queue.waiting, queue.known))

    def _add_grown(self) -> None:
        for queue in self._grown:
            self._push(queue)
        self._grown.clear()
        if len(self._heap) > 2 * len(self._offered) + SPARE_ENTRIES:
            self._heap = [(-queue.waiting, known) for known, queue in self._offered.items()]
            heapify(self._heap)

    def _remove(self, queue: Q) -> Q:
        queue.on_growth = None
        return self._offered.pop(queue.known)


STRATEGIES: Registry[type[Strategy[Any]]] = Registry(
    "strategy",
    {"depth-first": DepthFirst, "breadth-first": BreadthFirst, "best-first": BestFirst},
    base=Strategy,
)


def load_strategy(name: str) -> Strategy[Any]:
    """Return a new strategy by its name or import path."""
    created: Strategy[Any] = STRATEGIES.create(name)
    return created
