"""A frontier strategy: the server that was discovered last comes first."""

from __future__ import annotations

from tarantula.frontier.queues import ServerQueue
from tarantula.frontier.strategies import Strategy


class NewestFirst(Strategy):
    """One document of the server that became known last."""

    def __init__(self) -> None:
        self._offered: dict[int, ServerQueue] = {}

    def offer(self, queue: ServerQueue) -> None:
        self._offered[queue.known] = queue

    def take(self) -> ServerQueue | None:
        return self._offered.pop(max(self._offered)) if self._offered else None
