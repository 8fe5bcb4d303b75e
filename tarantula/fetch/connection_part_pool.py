"""Connections at rest, kept for the next request to the same origin."""

from __future__ import annotations

import asyncio
from time import monotonic

from tarantula.fetch.connection import HttpConnection
from tarantula.fetch.request import Origin


class ConnectionPool:
    """Keeps idle connections, not too many and not for too long; the latest is used first."""

    def __init__(self, *, max_idle: int, max_idle_per_server: int, idle_seconds: float) -> None:
        self._max_idle = max_idle
        self._max_idle_per_server = max_idle_per_server
        self._idle_seconds = idle_seconds
        self._idle: dict[HttpConnection, None] = {}
        self._of: dict[Origin, list[HttpConnection]] = {}
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, origin: Origin) -> HttpConnection | None:
        """A connection to an origin that has been used before, if one is open."""
        while origin in self._of:
            connection = self._of[origin][-1]
            self.forget(connection)
            if connection.open:
                connection.reused = True
                return connection
            connection.drop()
        return None

    def give(self, connection: HttpConnection) -> None:
        """Keep a connection for later, at the cost of the one that has rested longest."""
        connection.idle_since = monotonic()
        self._idle[connection] = None
        siblings = self._of.setdefault(connection.origin, [])
        siblings.append(connection)
        if len(siblings) > self._max_idle_per_server:
            self._close(siblings[0])
        if len(self._idle) > self._max_idle:
            self._close(next(iter(self._idle)))
        if self._sweeper is None:
            self._sweep_in(self._idle_seconds)

    def forget(self, connection: HttpConnection) -> None:
        """Know nothing more of a connection, because it is used or because it is closed."""
        if connection not in self._idle:
            return
        del self._idle[connection]
        siblings = self._of[connection.origin]
        siblings.remove(connection)
        if not siblings:
            del self._of[connection.origin]

    def close(self) -> None:
        """Close all of them."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for connection in list(self._idle):
            self._close(connection)

    def _close(self, connection: HttpConnection) -> None:
        self.forget(connection)
        connection.drop()

    def _sweep_in(self, seconds: float) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(seconds, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        oldest_kept = monotonic() - self._idle_seconds
        for connection in list(self._idle):
            if connection.idle_since > oldest_kept:
                self._sweep_in(connection.idle_since - oldest_kept)
                return
            self._close(connection)
