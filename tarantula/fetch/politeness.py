"""Pauses between visits to a server: delay, crawl delay, back-off and Retry-After."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from tarantula.core.states import DocumentState
from tarantula.fetch.robots import MAX_CRAWL_DELAY_SECONDS

MAX_RETRY_AFTER_SECONDS = 3600.0
"""A longer Retry-After is cut to this."""
OVERLOAD_FIRST_SECONDS, OVERLOAD_MAX_SECONDS = 1.0, 300.0
"""Seconds of penalty of an overloaded server (429, 503): the first one, and the maximum."""
UNREACHED_FIRST_SECONDS, UNREACHED_MAX_SECONDS = 0.25, 60.0
"""The same for a server that is not reached, or not by its gateway."""
MIN_PENALTY_SECONDS = 0.05
"""A smaller penalty is dropped."""

OVERLOAD_STATUSES = frozenset({429, 503})
TEMPORARY_ERROR_STATUSES = frozenset({408, 502, 504})
BACKED_OFF_STATUSES = OVERLOAD_STATUSES | TEMPORARY_ERROR_STATUSES
"""Responses with these make the pause longer."""
_MAX_TRIES = {
    **dict.fromkeys(OVERLOAD_STATUSES, 3),
    **dict.fromkeys(TEMPORARY_ERROR_STATUSES, 2),
    int(DocumentState.SYSTEM_ERROR): 2,
}


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, up to `MAX_RETRY_AFTER_SECONDS`; ``None`` if it has none."""
    text = (header or "").strip()[:100]
    if text.isascii() and text.isdigit():
        return min(float(text), MAX_RETRY_AFTER_SECONDS)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), MAX_RETRY_AFTER_SECONDS)


class ServerPause(NamedTuple):
    """Pause of a server, in seconds."""

    seconds: float
    backoff: float
    """Part of it that is a penalty for errors."""


@dataclass(slots=True)
class _ServerMemory:
    """Crawl delay, penalty and earliest next visit of a server."""

    crawl_delay: float = 0.0
    penalty: float = 0.0
    not_before: float = 0.0


class Politeness:
    """Pauses of all servers in one collector.

    A pause is the delay (the longer of the publication's and that of robots.txt) plus a penalty. An error doubles the
    penalty, a successful response halves it. Retry-After is obeyed in addition.
    """

    def __init__(self, delay: float, size: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._delay = delay
        self.delays: Mapping[str, float] = {}
        """Delays of servers with settings of their own."""
        self._size = size
        self._clock = clock
        self._memories: OrderedDict[str, _ServerMemory] = OrderedDict()

    def __len__(self) -> int:
        return len(self._memories)

    def pause(self, server: str) -> float:
        """Return the seconds from now until the server may be visited again."""
        memory = self._memories.get(server)
        if memory is None:
            return self.delays.get(server, self._delay)
        return max(self._base(server, memory) + memory.penalty, memory.not_before - self._clock())

    def unusual(self, server: str) -> ServerPause | None:
        """Return the pause of a server for display, or ``None`` if it is the publication's delay."""
        memory = self._memories.get(server)
        if memory is None:
            return ServerPause(self.delays[server], 0.0) if server in self.delays else None
        return ServerPause(round(self._base(server, memory) + memory.penalty, 2), round(memory.penalty, 2))

    def set_crawl_delay(self, server: str, seconds: float | None) -> None:
        """Set the Crawl-delay of a server's robots.txt."""
        if seconds and seconds > min(self.delays.get(server, self._delay), self._delay):
            self._remember(server).crawl_delay = min(seconds, MAX_CRAWL_DELAY_SECONDS)
        elif server in self._memories:
            self._memories[server].crawl_delay = 0.0

    @staticmethod
    def should_retry(state: int, tries: int) -> bool:
        """Whether a document that ended in *state* after *tries* attempts is retried."""
        return tries < _MAX_TRIES.get(state, 1)

    def answered(self, server: str, status: int, retry_after: str | None = None, now: datetime | None = None) -> None:
        """Record a response."""
        if status in OVERLOAD_STATUSES:
            self._increase_penalty(server, OVERLOAD_FIRST_SECONDS, OVERLOAD_MAX_SECONDS)
            wait = retry_after_seconds(retry_after, now or datetime.now(UTC)) or 0.0
            memory = self._memories[server]
            memory.not_before = max(memory.not_before, self._clock() + wait)
        elif status in TEMPORARY_ERROR_STATUSES:
            self.failed(server)
        elif status < 500 and server in self._memories:
            self._reduce_penalty(server)

    def failed(self, server: str) -> None:
        """Record that a server was not reached, or not in time."""
        self._increase_penalty(server, UNREACHED_FIRST_SECONDS, UNREACHED_MAX_SECONDS)

    def _base(self, server: str, memory: _ServerMemory) -> float:
        return max(self.delays.get(server, self._delay), memory.crawl_delay)

    def _increase_penalty(self, server: str, first: float, maximum: float) -> None:
        memory = self._remember(server)
        doubled = max(memory.penalty * 2, first, self._base(server, memory))
        memory.penalty = max(memory.penalty, min(doubled, maximum))

    def _reduce_penalty(self, server: str) -> None:
        memory = self._memories[server]
        memory.penalty = memory.penalty / 2 if memory.penalty > 2 * MIN_PENALTY_SECONDS else 0.0
        if not memory.penalty and not memory.crawl_delay and memory.not_before <= self._clock():
            del self._memories[server]

    def _remember(self, server: str) -> _ServerMemory:
        memory = self._memories.setdefault(server, _ServerMemory())
        self._memories.move_to_end(server)
        if len(self._memories) > self._size:
            self._memories.popitem(last=False)
        return memory
