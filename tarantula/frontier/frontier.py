"""The frontier of one item: what waits, which server may be visited, what is under way.

It holds no rows of its own. What is here was read from the table of documents, and what
is learned here goes back there through the writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from tarantula.frontier.queues import ServerQueue
from tarantula.frontier.strategies import Strategy
from tarantula.items import Entry


class Frontier:
    """Hands out documents, never more than *per_server* at a time to a server, nor before its pause is over."""

    def __init__(self, strategy: Strategy, per_server: int = 1) -> None:
        self._strategy = strategy
        self._per_server = per_server
        self._queues: dict[str, ServerQueue] = {}
        self._pausing: list[tuple[float, int, ServerQueue]] = []
        self._dry: dict[str, ServerQueue] = {}
        self.waiting = 0
        self.in_flight = 0

    @property
    def servers(self) -> dict[str, ServerQueue]:
        """The servers that were met, with what waits for them."""
        return self._queues

    def is_empty(self) -> bool:
        """Whether nothing waits and nothing is under way."""
        return not (self.waiting or self.in_flight)

    def add(self, entries: Iterable[Entry]) -> None:
        """Take documents that have become waiting."""
        for entry in entries:
            queue = self._queue(entry.server)
            queue.push(entry)
            self.waiting += 1
            self._offer(queue)

    def expect(self, server: str, unread: int) -> None:
        """Hear that the table has waiting rows of a server, none of which is in memory."""
        queue = self._queue(server)
        queue.unread += unread
        self.waiting += unread
        self._dry[server] = queue

    def again(self, entry: Entry) -> None:
        """Take back a document that is to be tried once more."""
        queue = self._queue(entry.server)
        queue.put_back(entry)
        self.waiting += 1
        self._offer(queue)

    def refill(self, server: str, entries: list[Entry], exhausted: bool) -> None:
        """Take the next rows of a server; *exhausted* says that the table has no more."""
        queue = self._queue(server)
        self.waiting -= queue.waiting
        queue.refill(entries, exhausted)
        self.waiting += queue.waiting
        self._offer(queue)

    @property
    def is_dry(self) -> bool:
        """Whether some server's window may run dry."""
        return bool(self._dry)

    def wanting_refill(self) -> list[ServerQueue]:
        """Return the servers whose window runs dry, and mark them as being refilled."""
        wanting = [queue for queue in self._dry.values() if queue.wants_refill]
        self._dry.clear()
        for queue in wanting:
            queue.refilling = True
        return wanting

    def next(self, now: float) -> Entry | None:
        """Hand out the next document of a server that may be visited now."""
        self._wake(now)
        while (queue := self._strategy.take()) is not None:
            queue.offered = False
            if not len(queue) or queue.in_flight >= self._per_server:
                continue
            if queue.not_before > now:
                self._pause(queue)
                continue
            return self._hand_out(queue)
        return None

    def next_due(self) -> float | None:
        """When the first pause is over, if some server pauses."""
        return self._pausing[0][0] if self._pausing else None

    def release(self, entry: Entry, not_before: float) -> None:
        """Hear that a visit is over, and when the server may be visited again."""
        queue = self._queue(entry.server)
        queue.release(entry)
        self.in_flight -= 1
        queue.not_before = max(queue.not_before, not_before)
        self._offer(queue)

    def lower(self, entry: Entry) -> None:
        """Hear that a document, waiting or under way, lies nearer than was believed."""
        held = self._queue(entry.server).held.get(entry.id)
        if held is not None:
            held.depth, held.kind, held.redirects = entry.depth, entry.kind, entry.redirects

    def postpone(self, server: str, not_before: float) -> None:
        """Hear of a visit that the frontier did not hand out."""
        queue = self._queue(server)
        queue.not_before = max(queue.not_before, not_before)

    def _hand_out(self, queue: ServerQueue) -> Entry:
        entry = queue.pop()
        self.waiting -= 1
        self.in_flight += 1
        if queue.wants_refill:
            self._dry[queue.name] = queue
        if queue.in_flight < self._per_server:
            self._offer(queue)
        return entry

    def _queue(self, server: str) -> ServerQueue:
        queue = self._queues.get(server)
        if queue is None:
            queue = self._queues[server] = ServerQueue(server, len(self._queues))
        return queue

    def _offer(self, queue: ServerQueue) -> None:
        if not queue.offered and len(queue) and queue.in_flight < self._per_server:
            queue.offered = True
            self._strategy.offer(queue)

    def _pause(self, queue: ServerQueue) -> None:
        queue.offered = True
        heappush(self._pausing, (queue.not_before, queue.known, queue))

    def _wake(self, now: float) -> None:
        while self._pausing and self._pausing[0][0] <= now:
            queue = heappop(self._pausing)[2]
            queue.offered = False
            self._offer(queue)
