"""How long to leave a server alone."""

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
"""Seconds; a server that asks for more is asked again after this."""
OVERLOADED_FIRST, OVERLOADED_MOST = 1.0, 300.0
"""Seconds added to the pause when a server says it has too much to do: the least at first, and the most ever."""
TROUBLED_FIRST, TROUBLED_MOST = 0.25, 60.0
"""The same when it is not reached, or its gateway does not reach it."""
MIN_PENALTY_SECONDS = 0.05
"""Seconds; a smaller penalty is none."""

OVERLOAD_STATUSES = frozenset({429, 503})
TEMPORARY_ERROR_STATUSES = frozenset({408, 502, 504})
_TRIES = {
    **dict.fromkeys(OVERLOAD_STATUSES, 3),
    **dict.fromkeys(TEMPORARY_ERROR_STATUSES, 2),
    int(DocumentState.SYSTEM_ERROR): 2,
}


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, up to `MAX_RETRY_AFTER`; ``None`` if it asks nothing."""
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
    """Seconds between two visits."""

    seconds: float
    backoff: float
    """How many of them because of trouble."""


@dataclass(slots=True)
class _Memory:
    """What is held against a server."""

    crawl_delay: float = 0.0
    penalty: float = 0.0
    not_before: float = 0.0


class Politeness:
    """The pauses of one publication's run.

    A pause is the delay (the publication's, or the robots.txt's if that is longer) and a penalty. Trouble doubles the
    penalty, every answer without trouble halves it. A Retry-After is obeyed beside that.
    """

    def __init__(self, delay: float, size: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._delay = delay
        self.delays: Mapping[str, float] = {}
        """The delays of servers that have one of their own."""
        self._size = size
        self._clock = clock
        self._memories: OrderedDict[str, _Memory] = OrderedDict()

    def __len__(self) -> int:
        return len(self._memories)

    def pause(self, server: str) -> float:
        """Return the seconds to wait from now before the server is visited again."""
        memory = self._memories.get(server)
        if memory is None:
            return self.delays.get(server, self._delay)
        return max(self._base(server, memory) + memory.penalty, memory.not_before - self._clock())

    def unusual(self, server: str) -> ServerPause | None:
        """Return the pause of a server for others to see; nothing if it is as the publication says."""
        memory = self._memories.get(server)
        if memory is None:
            return ServerPause(self.delays[server], 0.0) if server in self.delays else None
        return ServerPause(round(self._base(server, memory) + memory.penalty, 2), round(memory.penalty, 2))

    def ask_crawl_delay(self, server: str, seconds: float | None) -> None:
        """Take note of what a server's robots.txt asks for."""
        if seconds and seconds > min(self.delays.get(server, self._delay), self._delay):
            self._remember(server).crawl_delay = min(seconds, MAX_CRAWL_DELAY_SECONDS)
        elif server in self._memories:
            self._memories[server].crawl_delay = 0.0

    @staticmethod
    def should_retry(state: int, tries: int) -> bool:
        """Whether what ended in *state* (ours or HTTP's), after *tries* tries in all, is to be asked for again."""
        return tries < _TRIES.get(state, 1)

    def answered(self, server: str, status: int, retry_after: str | None = None, now: datetime | None = None) -> None:
        """Take note of an answer."""
        if status in OVERLOAD_STATUSES:
            self._worsen(server, OVERLOADED_FIRST, OVERLOADED_MOST)
            wait = retry_after_seconds(retry_after, now or datetime.now(UTC)) or 0.0
            memory = self._memories[server]
            memory.not_before = max(memory.not_before, self._clock() + wait)
        elif status in TEMPORARY_ERROR_STATUSES:
            self.failed(server)
        elif status < 500 and server in self._memories:
            self._better(server)

    def failed(self, server: str) -> None:
        """Take note that a server was not reached, or not in time."""
        self._worsen(server, TROUBLED_FIRST, TROUBLED_MOST)

    def _base(self, server: str, memory: _Memory) -> float:
        return max(self.delays.get(server, self._delay), memory.crawl_delay)

    def _worsen(self, server: str, first: float, most: float) -> None:
        memory = self._remember(server)
        doubled = max(memory.penalty * 2, first, self._base(server, memory))
        memory.penalty = max(memory.penalty, min(doubled, most))

    def _better(self, server: str) -> None:
        memory = self._memories[server]
        memory.penalty = memory.penalty / 2 if memory.penalty > 2 * MIN_PENALTY_SECONDS else 0.0
        if not memory.penalty and not memory.crawl_delay and memory.not_before <= self._clock():
            del self._memories[server]

    def _remember(self, server: str) -> _Memory:
        memory = self._memories.setdefault(server, _Memory())
        self._memories.move_to_end(server)
        if len(self._memories) > self._size:
            self._memories.popitem(last=False)
        return memory
