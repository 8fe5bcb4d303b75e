"""Frontier of one collector: documents that wait or are in flight at the servers on lease.

The frontier stores no rows. It reads the table of documents, and changes go back through the writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from tarantula.frontier.queues import FrontierEntry, ServerQueue
from tarantula.frontier.strategies import Strategy


class Frontier:
    """Hands out documents: at most *per_server* at a time per server, and none before its pause is over.

    If a server may have several in flight, they start *spacing* seconds apart.
    """

    def __init__(self, strategy: Strategy, per_server: int = 1, spacing: float = 0.0) -> None:
        self._strategy = strategy
        self._per_server = per_server
        self._spacing = spacing if per_server > 1 else 0.0
        self._queues: dict[str, ServerQueue] = {}
        self._known = 0
        self._pausing: list[tuple[float, int, ServerQueue]] = []
        self._dry: dict[str, ServerQueue] = {}
        self.waiting = 0
        self.in_flight = 0

    @property
    def servers(self) -> dict[str, ServerQueue]:
        """Queues of the servers on lease, by name."""
        return self._queues

    def waiting_at(self, server: str) -> int:
        """Return the number of waiting documents of a server on lease."""
        return self._queues[server].waiting if server in self._queues else 0

    def is_empty(self) -> bool:
        """Whether no document waits and none is in flight."""
        return not (self.waiting or self.in_flight)

    def open(self, server: str, not_before: float, entries: list[FrontierEntry], exhausted: bool) -> None:
        """Add a leased server with the first of its waiting documents."""
        if server in self._queues:
            self.refill(server, entries, exhausted)
            return
        self._known += 1
        queue = self._queues[server] = ServerQueue(server, self._known)
        queue.not_before = not_before
        queue.refill(entries, exhausted)
        self.waiting += queue.waiting
        self._offer(queue)

    def close(self, server: str) -> None:
        """Remove a server; its waiting documents stay in the table."""
        queue = self._queues.pop(server, None)
        if queue is not None:
            self.waiting -= queue.waiting
            self.in_flight -= queue.in_flight
            queue.retiring = True

    def retire(self, server: str) -> None:
        """Hand out no more documents of a server that another collector or item waits for."""
        if server in self._queues:
            self._queues[server].retiring = True

    def idle(self, now: float) -> dict[str, float]:
        """Return the servers whose lease may be released, with the remaining seconds of their pause."""
        return {queue.name: max(queue.not_before - now, 0.0) for queue in self._queues.values() if queue.is_idle}

    def add(self, entries: Iterable[FrontierEntry]) -> None:
        """Add new waiting documents; those of servers that are not on lease stay in the table."""
        for entry in entries:
            queue = self._queues.get(entry.server)
            if queue is not None:
                before = queue.waiting
                queue.push(entry)
                self.waiting += queue.waiting - before
                self._offer(queue)

    def again(self, entry: FrontierEntry) -> None:
        """Add a document for a retry, if its server is still on lease."""
        queue = self._queues.get(entry.server)
        if queue is not None:
            queue.put_back(entry)
            self.waiting += 1
            self._offer(queue)

    def refill(self, server: str, entries: list[FrontierEntry], exhausted: bool) -> None:
        """Add the next rows of a server; *exhausted* means that the table has no more."""
        queue = self._queues.get(server)
        if queue is None:
            return
        self.waiting -= queue.waiting
        queue.refill(entries, exhausted)
        self.waiting += queue.waiting
        self._offer(queue)

    @property
    def is_dry(self) -> bool:
        """Whether the window of some server is nearly empty."""
        return bool(self._dry)

    def wanting_refill(self) -> list[ServerQueue]:
        """Return the queues whose window is nearly empty, and mark them as being refilled."""
        wanting = [queue for queue in self._dry.values() if queue.wants_refill]
        self._dry.clear()
        for queue in wanting:
            queue.refilling = True
        return wanting

    def next(self, now: float) -> FrontierEntry | None:
        """Return the next document of a server that may be visited now, or ``None``."""
        self._wake(now)
        while (queue := self._strategy.take()) is not None:
            queue.offered = False
            if not len(queue) or queue.retiring or queue.in_flight >= self._per_server:
                continue
            if queue.not_before > now:
                self._pause(queue)
                continue
            return self._hand_out(queue, now)
        return None

    def next_due(self) -> float | None:
        """Return the time at which the first pause is over, or ``None`` if no server pauses."""
        return self._pausing[0][0] if self._pausing else None

    def release(self, entry: FrontierEntry, not_before: float) -> None:
        """Record that a visit is over, and when the server may be visited again."""
        queue = self._queues.get(entry.server)
        if queue is None:
            return
        queue.in_flight -= 1
        self.in_flight -= 1
        queue.not_before = max(queue.not_before, not_before)
        self._offer(queue)

    def stored(self, entry: FrontierEntry) -> None:
        """Record that a document that was handed out is committed."""
        queue = self._queues.get(entry.server)
        if queue is not None:
            queue.stored(entry)

    def nearer(self, entry: FrontierEntry) -> None:
        """Update a document for which a shorter path was found; add it if it was too deep before."""
        queue = self._queues.get(entry.server)
        if queue is None:
            return
        held = queue.held.get(entry.id)
        if held is not None:
            held.depth, held.kind, held.redirects = entry.depth, entry.kind, entry.redirects
        elif not queue.unread:
            # All waiting documents are in memory, so this one did not wait before.
            self.again(entry)

    def postpone(self, server: str, not_before: float) -> None:
        """Delay a server after a visit that the frontier did not hand out."""
        queue = self._queues.get(server)
        if queue is not None:
            queue.not_before = max(queue.not_before, not_before)

    def _hand_out(self, queue: ServerQueue, now: float) -> FrontierEntry:
        entry = queue.pop()
        queue.not_before = max(queue.not_before, now + self._spacing)
        self.waiting -= 1
        self.in_flight += 1
        if queue.wants_refill:
            self._dry[queue.name] = queue
        if queue.in_flight < self._per_server:
            self._offer(queue)
        return entry

    def _offer(self, queue: ServerQueue) -> None:
        if queue.offered or queue.retiring:
            return
        if len(queue) and queue.in_flight < self._per_server:
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
