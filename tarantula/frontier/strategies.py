"""In which order servers are served, among those that may be visited now.

Within a server the order is always the same: documents nearer to the root first, then
those known first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from heapq import heappop, heappush

from tarantula.errors import TarantulaError
from tarantula.frontier.queues import ServerQueue
from tarantula.importing import load


class Strategy(ABC):
    """Holds the servers that were offered, and says which one is next."""

    @abstractmethod
    def offer(self, queue: ServerQueue) -> None:
        """Hear that this server has work and may be visited. It is offered once, until it is taken."""

    @abstractmethod
    def take(self) -> ServerQueue | None:
        """Give up the server to be visited next."""


class DepthFirst(Strategy):
    """All documents of a server before the next one; servers known first come first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, ServerQueue]] = []

    def offer(self, queue: ServerQueue) -> None:
        heappush(self._heap, (queue.known, queue))

    def take(self) -> ServerQueue | None:
        return heappop(self._heap)[1] if self._heap else None


class BreadthFirst(Strategy):
    """One document of each server in turn."""

    def __init__(self) -> None:
        self._round: deque[ServerQueue] = deque()

    def offer(self, queue: ServerQueue) -> None:
        self._round.append(queue)

    def take(self) -> ServerQueue | None:
        return self._round.popleft() if self._round else None


class BestFirst(Strategy):
    """One document of the server that has most waiting; ties go to the server known first."""

    def __init__(self) -> None:
        self._offered: dict[int, ServerQueue] = {}

    def offer(self, queue: ServerQueue) -> None:
        self._offered[queue.known] = queue

    def take(self) -> ServerQueue | None:
        if not self._offered:
            return None
        best = max(self._offered.values(), key=lambda queue: (queue.waiting, -queue.known))
        return self._offered.pop(best.known)


STRATEGIES: dict[str, type[Strategy]] = {
    "depth-first": DepthFirst,
    "breadth-first": BreadthFirst,
    "best-first": BestFirst,
}


def strategy(name: str) -> Strategy:
    """Return a new strategy by its name, or by the import path of a class of one's own."""
    if name in STRATEGIES:
        return STRATEGIES[name]()
    found = load(name, "strategy")
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise TarantulaError(f"{name} is not a subclass of tarantula.frontier.strategies.Strategy.")
    return found()
