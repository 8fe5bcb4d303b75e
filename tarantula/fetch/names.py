"""Name resolution: DNS answers, their errors and how long they are kept."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import aiodns
import pycares
from aiodns.error import ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND, DNSError

from tarantula.core.reasons import Reason
from tarantula.fetch.egress import is_literal
from tarantula.fetch.exchange import ServerUnreachable, local_resource_error

LOOKUP_SECONDS = 10.0
"""Time that name servers have for an answer."""
MAX_ADDRESSES_PER_NAME = 64
"""Addresses that are kept; a name may have any number."""
MAX_THREADS = 16
"""Lookups at a time that are left to the C library."""
FILES_PER_LOOKUP = 4
"""Files and sockets that a lookup has open at a time, at most."""
CACHE_SECONDS = 300.0


NSSWITCH, RESOLV_CONF = Path("/etc/nsswitch.conf"), Path("/etc/resolv.conf")
LOCAL_SOURCES = re.compile(r"files|dns|myhostname|mymachines|mdns\w*")
"""Sources of nsswitch.conf that have no answer of their own for a name with a dot that is not ``.local``."""
RESOLVED_STUB = re.compile(r"^nameserver\s+127\.0\.0\.5[34]\s*$", re.MULTILINE)
"""systemd-resolved as the name server: it gives the answers that its source ``resolve`` would give."""


def look_up(host: str) -> list[str]:
    """Return the addresses of a host in the order of preference of the system; empty if there are none.

    Raise `LocalResourceError` if this machine could not even ask.
    """
    try:
        return _system_addresses(host)
    except ServerUnreachable:
        return []


def _system_addresses(host: str) -> list[str]:
    """Return the addresses that the C library finds; raise `ServerUnreachable` if the sources did not answer."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError:
        return []
    except OSError as error:
        _check_local_resources(error)
        if error.errno in (socket.EAI_AGAIN, socket.EAI_FAIL):
            raise _failed_lookup(host, error.strerror or "") from error
        return []
    return _first(str(address[0]) for family, *_, address in found if family in (socket.AF_INET, socket.AF_INET6))


def _first(addresses: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(addresses))[:MAX_ADDRESSES_PER_NAME]


def _failed_lookup(host: str, error: str) -> ServerUnreachable:
    return ServerUnreachable(Reason.of("name_lookup_failed", host=host, error=error))


def _check_local_resources(failure: OSError | None = None) -> None:
    """Raise `LocalResourceError` if a lookup failed for want of files or memory."""
    failure = _file_shortage() or failure
    if failure is not None and (shortage := local_resource_error(failure)) is not None:
        raise shortage


def _file_shortage() -> OSError | None:
    """Return the error of opening as many files as a lookup; the library may report it as anything."""
    held: list[int] = []
    try:
        held.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(FILES_PER_LOOKUP))
    except OSError as error:
        return error
    finally:
        for file in held:
            os.close(file)
    return None


class NameLookup:
    """Looks names up with c-ares: in the hosts file, and by the name servers of resolv.conf or those given.

    Names that other sources of nsswitch.conf may know are left to the C library, in a few threads.
    """

    def __init__(self, servers: Sequence[str] = ()) -> None:
        self._servers = servers
        self._dns: aiodns.DNSResolver | None = None
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="look-up")

    async def __call__(self, host: str) -> list[str]:
        """Return the addresses of a host, in order of preference; empty if it has none.

        Raise `ServerUnreachable` if no name server answered, and `LocalResourceError` if none could be asked.
        """
        if not self._servers and not has_dns_only(host):
            return await asyncio.get_running_loop().run_in_executor(self._threads, _system_addresses, host)
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                found = await self._channel().getaddrinfo(host, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise _failed_lookup(host, f"no answer within {LOOKUP_SECONDS:g} s") from None
        except (DNSError, pycares.AresError) as error:
            code, *message = error.args
            if code in (ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME):
                return []
            _check_local_resources()
            raise _failed_lookup(host, str(message[0] if message else code)) from error
        return _first(node.addr[0].decode() for node in found.nodes)

    async def close(self) -> None:
        """Cancel all lookups."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._dns is not None:
            # Before the channel is closed, which happens in another thread and may outlast the event loop.
            self._dns.cancel()
            await self._dns.close()

    def _channel(self) -> aiodns.DNSResolver:
        if self._dns is None:
            self._dns = aiodns.DNSResolver(self._servers or None)
        return self._dns


def has_dns_only(host: str) -> bool:
    """Whether the hosts file and name servers are all that the system would ask for a name."""
    name = host.rstrip(".")
    return "." in name and not name.endswith((".local", ".localhost")) and not _has_other_sources()


@cache
def _has_other_sources() -> bool:
    """Whether nsswitch.conf names a source that may know any name, and that c-ares does not have."""
    try:
        lines = NSSWITCH.read_text().splitlines()
        sources = next((line.partition(":")[2] for line in lines if line.startswith("hosts:")), "")
        others = [one for one in re.sub(r"\[.*?\]|#.*", " ", sources).split() if LOCAL_SOURCES.fullmatch(one) is None]
        return bool(others) and (others != ["resolve"] or RESOLVED_STUB.search(RESOLV_CONF.read_text()) is None)
    except OSError:
        return False


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
