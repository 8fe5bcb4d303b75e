"""The waiting documents of one server, as far as they are in memory."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from tarantula.items import FrontierEntry

WINDOW_SIZE = 200
"""How many waiting documents of one server are held in memory."""


class ServerQueue:
    """A window on the waiting documents of one server, lowest rank first."""

    __slots__ = (
        "_heap",
        "held",
        "in_flight",
        "known",
        "name",
        "not_before",
        "offered",
        "on_growth",
        "refilling",
        "retiring",
        "unread",
        "unstored",
    )

    def __init__(self, name: str, known: int) -> None:
        self.name = name
        self.known = known
        """Its place in the order in which servers became known."""
        self.in_flight = 0
        self.not_before = 0.0
        """When it may be visited again, on the frontier's clock."""
        self.held: dict[int, FrontierEntry] = {}
        """The documents that are in memory, or that were handed out and are not stored yet."""
        self.unstored = 0
        """How many of them were handed out."""
        self.unread = 0
        """Waiting rows that are in the table only."""
        self.refilling = False
        self.offered = False
        self.retiring = False
        """Whether it is to be given up, because others wait for it."""
        self.on_growth: Callable[[ServerQueue], object] | None = None
        """Called when more waits than before, by whom it was offered to."""
        self._heap: list[tuple[int, int, FrontierEntry]] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def waiting(self) -> int:
        """How many documents wait here, in memory or not."""
        return len(self._heap) + self.unread

    @property
    def wants_refill(self) -> bool:
        """Whether its window is running dry while the table has more."""
        return self.unread > 0 and not self.refilling and len(self._heap) < WINDOW_SIZE // 4

    @property
    def is_idle(self) -> bool:
        """Whether it may be given up: nothing of it is under way, and nothing waits or others do."""
        return not (self.unstored or self.refilling) and (self.retiring or not self.waiting)

    def push(self, entry: FrontierEntry) -> None:
        """Take a new document into the window, or leave it in the table if the window is full.

        While rows wait in the table a new one stays there too, or it would overtake them.
        """
        if self.unread or len(self._heap) >= WINDOW_SIZE:
            self.unread += 1
            self._tell_growth()
        else:
            self.put_back(entry)

    def put_back(self, entry: FrontierEntry) -> None:
        """Take a document into the window, whatever its size."""
        if entry.id not in self.held:
            self.held[entry.id] = entry
            heappush(self._heap, (entry.rank, entry.id, entry))
            self._tell_growth()

    def refill(self, entries: list[FrontierEntry], exhausted: bool) -> None:
        """Take the next rows of the table; *exhausted* says that it has no more."""
        for entry in entries:
            self.put_back(entry)
        self.unread = 0 if exhausted else max(1, self.unread - len(entries))
        self.refilling = False

    def pop(self) -> FrontierEntry:
        """Hand out the first document."""
        self.in_flight += 1
        self.unstored += 1
        return heappop(self._heap)[2]

    def stored(self, entry: FrontierEntry) -> None:
        """Hear that a document that was handed out is committed."""
        if self.held.pop(entry.id, None) is not None:
            self.unstored -= 1

    def _tell_growth(self) -> None:
        if self.on_growth is not None:
            self.on_growth(self)
