"""Names looked up, once for many requests, and checked."""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

from tarantula.fetch.errors import PrivateAddress, ServerUnreachable
from tarantula.fetch.resolver_part_addresses import is_public

CACHE_SECONDS = 300.0
FAILURE_CACHE_SECONDS = 30.0
MAX_CACHED_NAMES = 10_000
MAX_ADDRESSES_PER_NAME = 6
"""Addresses of one name that are tried; a name may have any number."""
MAX_PARALLEL_LOOKUPS = 16
"""Lookups at a time."""

Lookup = Callable[[str], list[str]]


def look_up(host: str) -> list[str]:
    """Ask the system for the addresses of a host, in the order of its preference; none if it has none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = [str(sockaddr[0]) for family, *_, sockaddr in found if family in (socket.AF_INET, socket.AF_INET6)]
    return list(dict.fromkeys(addresses))[:MAX_ADDRESSES_PER_NAME]


class Resolver:
    """Remembers the addresses of names for a while, and hands out only those that may be visited."""

    def __init__(self, *, allow_private: bool = True, look_up: Lookup = look_up) -> None:
        self._allow_private = allow_private
        self._look_up = look_up
        self._known: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()
        self._running: dict[str, asyncio.Future[list[str]]] = {}
        # The event loop's own threads are few, and one slow name must not keep the others waiting.
        self._threads = ThreadPoolExecutor(MAX_PARALLEL_LOOKUPS, thread_name_prefix="look-up")

    async def addresses(self, host: str) -> list[str]:
        """The addresses of a host, in order of preference."""
        addresses = await self._addresses(host)
        if not addresses:
            raise ServerUnreachable(f"The name {host} does not resolve.")
        return addresses

    async def visitable(self, host: str) -> list[str]:
        """The addresses at which a host may be visited: private ones are left out if they must be."""
        addresses = await self.addresses(host)
        if self._allow_private:
            return addresses
        public = [address for address in addresses if is_public(address)]
        if not public:
            raise PrivateAddress(f"The server {host} is at the private address {addresses[0]}.")
        return public

    def check_literal(self, host: str) -> None:
        """Refuse a host that is itself a private address; names are left to whoever looks them up."""
        try:
            public = self._allow_private or is_public(host)
        except ValueError:
            return
        if not public:
            raise PrivateAddress(f"The server {host} is at a private address.")

    def close(self) -> None:
        """Let the lookups and their threads go."""
        for running in self._running.values():
            running.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _addresses(self, host: str) -> list[str]:
        known = self._known.get(host)
        if known is not None and known[0] > monotonic():
            return known[1]
        running = self._running.get(host)
        if running is None:
            running = asyncio.ensure_future(self._find(host))
            self._running[host] = running
        # Somebody else may wait for the same name: one whose time is over must not take it from them.
        return await asyncio.shield(running)

    async def _find(self, host: str) -> list[str]:
        try:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._threads, self._look_up, host)
        finally:
            del self._running[host]
        self._remember(host, found)
        return found

    def _remember(self, host: str, found: list[str]) -> None:
        self._known[host] = monotonic() + (CACHE_SECONDS if found else FAILURE_CACHE_SECONDS), found
        self._known.move_to_end(host)
        while len(self._known) > MAX_CACHED_NAMES:
            self._known.popitem(last=False)
