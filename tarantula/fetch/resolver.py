"""Name resolution with a cache. Which of the addresses may be connected to is decided by `fetch.egress`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import NamedTuple

from tarantula.core.reasons import Reason
from tarantula.fetch.egress import is_literal
from tarantula.fetch.errors import ServerUnreachable
from tarantula.fetch.names import NameLookup

CACHE_SECONDS = 300.0
FIRST_FAILURE_SECONDS, MAX_FAILURE_SECONDS = 1.0, 600.0
"""Seconds until a name that failed is looked up again: at first, doubled with each further failure, and at most."""
MAX_CACHED_NAMES = 10_000


class _Known(NamedTuple):
    """Result of a lookup, valid until a time of the monotonic clock."""

    until: float
    addresses: list[str]
    failure: Reason | None = None
    """Why there is no address."""
    failures: int = 0
    """Lookups that failed since one succeeded."""


Lookup = Callable[[str], Awaitable[list[str]]]


class Resolver:
    """Resolves names with a cache, which several clients may share.

    All requests for a name wait for one lookup. A name that failed is looked up again after a pause that grows.
    """

    def __init__(self, look_up: Lookup | None = None) -> None:
        self._look_up = look_up or NameLookup()
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._running: dict[str, asyncio.Future[_Known]] = {}
        self.waiting: Callable[[], AbstractContextManager[None]] = nullcontext
        """Context in which a request waits for a lookup."""

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses of a host, in order of preference; raise `ServerUnreachable` if there are none."""
        if is_literal(host):
            return [host]
        known = self._known.get(host)
        if known is None or known.until <= monotonic():
            known = await self._wait_for(host)
        if known.failure is not None:
            raise ServerUnreachable(known.failure)
        return known.addresses

    async def close(self) -> None:
        """Cancel running lookups."""
        for running in self._running.values():
            running.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        if isinstance(self._look_up, NameLookup):
            await self._look_up.close()

    async def _wait_for(self, host: str) -> _Known:
        running = self._running.get(host)
        if running is None:
            running = self._running[host] = asyncio.ensure_future(self._resolve(host))
        with self.waiting():
            # Other requests may wait for the same name: a timeout of one must not cancel the lookup.
            return await asyncio.shield(running)

    async def _resolve(self, host: str) -> _Known:
        before = self._known.get(host, _Known(0.0, []))
        try:
            addresses = await self._look_up(host)
        except ServerUnreachable as error:
            # RFC 8767: old addresses are better than none while the name servers do not answer.
            known = _failed(before, before.addresses, error.reason)
        else:
            known = _Known(monotonic() + CACHE_SECONDS, addresses)
            if not addresses:
                known = _failed(before, [], Reason.of("name_not_resolved", host=host))
        finally:
            del self._running[host]
        self._known[host] = known
        self._known.move_to_end(host)
        while len(self._known) > MAX_CACHED_NAMES:
            self._known.popitem(last=False)
        return known


def _failed(before: _Known, addresses: list[str], failure: Reason) -> _Known:
    """Return the cache entry of a name whose lookup failed."""
    pause = min(FIRST_FAILURE_SECONDS * 2 ** min(before.failures, 32), MAX_FAILURE_SECONDS)
    return _Known(monotonic() + pause, addresses, None if addresses else failure, before.failures + 1)
