"""In which order servers are served, among those that may be visited now.

Within a server the order is always the same: documents nearer to the root first, then
those known first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from tarantula.core.errors import TarantulaError
from tarantula.core.registry import load_object
from tarantula.frontier.queues import ServerQueue

SPARE_PLACES = 16
"""How many outdated places a short list of servers may hold."""


class StrategyServer(Protocol):
    """What a strategy sees of a server."""

    name: str
    known: int
    """Its place in the order in which servers became known; no other has the same."""
    on_growth: Callable[[Any], object] | None
    """Called by the server when more waits than before."""

    @property
    def waiting(self) -> int:
        """How many documents wait."""

    def __len__(self) -> int:
        """Return how many of them are in memory."""


Q = TypeVar("Q", bound=StrategyServer, default=ServerQueue)


class Strategy(ABC, Generic[Q]):
    """Holds the servers that were offered, and says which one is next."""

    @abstractmethod
    def offer(self, queue: Q) -> None:
        """Hear that this server has work and may be visited. It is offered once, until it is taken."""

    @abstractmethod
    def take(self) -> Q | None:
        """Give up the server to be visited next."""


class DepthFirst(Strategy[Q]):
    """All documents of a server before the next one; servers known first come first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Q]] = []

    def offer(self, queue: Q) -> None:
        heappush(self._heap, (queue.known, queue))

    def take(self) -> Q | None:
        return heappop(self._heap)[1] if self._heap else None


class BreadthFirst(Strategy[Q]):
    """One document of each server in turn, in the order in which they became known, on from the last one served."""

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
        # A server whose documents went elsewhere meanwhile is not served, and the round does not move.
        if queue.waiting:
            self._round, self._last = its_round, known
        return queue


class BestFirst(Strategy[Q]):
    """One document of the server that has most waiting; ties go to the server known first.

    Places are not moved when a number changes. One that promises too much is put right
    when it is drawn; a server that grew gets a better one, and the old one is passed over.
    """

    def __init__(self) -> None:
        self._offered: dict[int, Q] = {}
        self._grown: set[Q] = set()
        self._places: list[tuple[int, int]] = []

    def offer(self, queue: Q) -> None:
        self._offered[queue.known] = queue
        queue.on_growth = self._grown.add
        self._place(queue)

    def take(self) -> Q | None:
        if self._grown:
            self._place_those_that_grew()
        while self._places:
            promised, known = heappop(self._places)
            queue = self._offered.get(known)
            if queue is None:
                continue
            if queue.waiting == -promised:
                return self._give_up(queue)
            self._place(queue)
        return None

    def _place(self, queue: Q) -> None:
        heappush(self._places, (-queue.waiting, queue.known))

    def _place_those_that_grew(self) -> None:
        for queue in self._grown:
            self._place(queue)
        self._grown.clear()
        if len(self._places) > 2 * len(self._offered) + SPARE_PLACES:
            self._places = [(-queue.waiting, known) for known, queue in self._offered.items()]
            heapify(self._places)

    def _give_up(self, queue: Q) -> Q:
        queue.on_growth = None
        return self._offered.pop(queue.known)


STRATEGIES: dict[str, type[Strategy[Any]]] = {
    "depth-first": DepthFirst,
    "breadth-first": BreadthFirst,
    "best-first": BestFirst,
}


def load_strategy(name: str) -> Strategy[Any]:
    """Return a new strategy by its name, or by the import path of a class of one's own."""
    if name in STRATEGIES:
        return STRATEGIES[name]()
    found = load_object(name, "strategy")
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise TarantulaError(f"{name} is not a subclass of tarantula.frontier.strategies.Strategy.")
    return found()
