"""Name resolution with a cache, and the check that an address is public."""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from time import monotonic

from tarantula.fetch.errors import PrivateAddress, ServerUnreachable

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_RESERVED = (
    ip_network("192.0.0.0/24"),  # IETF protocol assignments; a cloud's metadata service is at .192
    ip_network("192.88.99.0/24"),  # the way to 6to4 relays, deprecated
    ip_network("168.63.129.16/32"),  # a cloud's wire server, public only by number
)


@lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Whether an address is on the public internet."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        embedded = _embedded(parsed)
        if embedded is None:
            return parsed in _GLOBAL_UNICAST and parsed.is_global and not parsed.is_multicast
        parsed = embedded
    return parsed.is_global and not parsed.is_multicast and not any(parsed in network for network in _RESERVED)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address (NAT64, mapped, 6to4), or ``None``."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


CACHE_SECONDS = 300.0
FAILURE_CACHE_SECONDS = 30.0
MAX_CACHED_NAMES = 10_000
MAX_ADDRESSES_PER_NAME = 6
"""Addresses that are tried; a name may have any number."""
MAX_PARALLEL_LOOKUPS = 16

Lookup = Callable[[str], list[str]]


def look_up(host: str) -> list[str]:
    """Return the addresses of a host in the order of preference of the system; empty if it does not resolve."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = [str(sockaddr[0]) for family, *_, sockaddr in found if family in (socket.AF_INET, socket.AF_INET6)]
    return list(dict.fromkeys(addresses))[:MAX_ADDRESSES_PER_NAME]


class Resolver:
    """Resolves names with a cache, and filters addresses that may not be visited."""

    def __init__(self, *, allow_private: bool = True, look_up: Lookup = look_up) -> None:
        self._allow_private = allow_private
        self._look_up = look_up
        self._known: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()
        self._running: dict[str, asyncio.Future[list[str]]] = {}
        # The event loop has few threads of its own, and a slow name must not delay the others.
        self._threads = ThreadPoolExecutor(MAX_PARALLEL_LOOKUPS, thread_name_prefix="look-up")

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses of a host, in order of preference."""
        addresses = await self._addresses(host)
        if not addresses:
            raise ServerUnreachable(f"The name {host} does not resolve.")
        return addresses

    async def visitable(self, host: str) -> list[str]:
        """Return the addresses of a host that may be visited; raise `PrivateAddress` if there is none."""
        addresses = await self.addresses(host)
        if self._allow_private:
            return addresses
        public = [address for address in addresses if is_public(address)]
        if not public:
            raise PrivateAddress(f"The server {host} is at the private address {addresses[0]}.")
        return public

    def check_literal(self, host: str) -> None:
        """Raise `PrivateAddress` for a host that is a private address itself; a name is resolved by the proxy."""
        try:
            public = self._allow_private or is_public(host)
        except ValueError:
            return
        if not public:
            raise PrivateAddress(f"The server {host} is at a private address.")

    def close(self) -> None:
        """Cancel running lookups and stop their threads."""
        for running in self._running.values():
            running.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _addresses(self, host: str) -> list[str]:
        known = self._known.get(host)
        if known is not None and known[0] > monotonic():
            return known[1]
        running = self._running.get(host)
        if running is None:
            running = asyncio.ensure_future(self._resolve(host))
            self._running[host] = running
        # Other requests may wait for the same name: a timeout of one must not cancel the lookup.
        return await asyncio.shield(running)

    async def _resolve(self, host: str) -> list[str]:
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
