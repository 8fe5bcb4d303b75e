"""Open connections of a server: limits on their number, in all and from one address, and on what clients may delay."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol

from tarantula.core.process import connection_limit
from tarantula.core.sockets import is_loopback

MAX_CONNECTIONS = 1000
"""Maximum number of open connections of a server, where the limit of open files permits it."""
SPARE_CONNECTIONS = 32
"""Connections beyond the limit that are accepted, for what has to be answered at all times."""
ACCEPT_BACKLOG = 100
"""Connections that are accepted at once, before those that wait longest are closed."""
CHECK_SECONDS = 0.5
"""Interval between two checks for connections past their deadline."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that count: one customer has all addresses of such a network."""


class ServerConnection(Protocol):
    """A connection of a server."""

    @property
    def client_address(self) -> str:
        """Address of the client."""

    def waits_since(self) -> float | None:
        """Return the loop time since when the server waits for the client; None while it works on an answer."""

    def is_overdue(self, now: float) -> bool:
        """Whether the client has not sent or received data in time."""

    def abort(self) -> None:
        """Close the connection at once."""


class OpenConnections:
    """The open connections of a server; the one that the server waits for longest makes room for a new one."""

    def __init__(
        self,
        per_address: int,
        most: int = MAX_CONNECTIONS,
        spare: int = SPARE_CONNECTIONS,
        proxies: Sequence[str] = (),
    ) -> None:
        # Each connection may need a second file: the download, or a connection to the database.
        self.most = max(min(most, connection_limit() // 2), 1)
        self.per_address = per_address
        self._proxies = [ip_network(proxy, strict=False) for proxy in proxies]
        self.spare = spare
        self._open: dict[ServerConnection, str] = {}
        self._numbers = Counter[str]()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether there are more connections than there should be."""
        return len(self._open) > self.most

    def add(self, connection: ServerConnection) -> bool:
        """Count a new connection and make room for it; return False if it has to be refused."""
        who = client_network(connection.client_address)
        too_many = self._numbers[who] >= self.per_address and not self._is_shared(connection.client_address)
        if too_many and not self._abort_waiting(who):
            return False
        if len(self._open) >= self.most and not self._abort_waiting() and len(self) >= self.most + self.spare:
            return False
        self._open[connection] = who
        self._numbers[who] += 1
        return True

    def _is_shared(self, address: str) -> bool:
        """Whether all users of a proxy have this address: a proxy on this machine, or a trusted one."""
        return is_loopback(address) or any(ip_address(address) in proxy for proxy in self._proxies)

    def remove(self, connection: ServerConnection) -> None:
        """Forget a connection that is closed."""
        who = self._open.pop(connection, None)
        if who is not None:
            self._numbers[who] -= 1
            if not self._numbers[who]:
                del self._numbers[who]

    async def abort_overdue(self) -> None:
        """Close connections past their deadline, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = asyncio.get_running_loop().time()
            for connection in [one for one in self._open if one.is_overdue(now)]:
                self._abort(connection)

    def _abort_waiting(self, who: str | None = None) -> bool:
        """Close the connection that is waited for longest, of an address or of those with the most connections."""
        waiting = [
            (-self._numbers[address], since, connection)
            for connection, address in self._open.items()
            if who in (None, address) and (since := connection.waits_since()) is not None
        ]
        if not waiting:
            return False
        self._abort(min(waiting, key=lambda one: one[:2])[2])
        return True

    def _abort(self, connection: ServerConnection) -> None:
        self.remove(connection)
        connection.abort()


def client_network(address: str) -> str:
    """Return the part of an address that identifies a client: all of IPv4, the network of IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((parsed, IPV6_PREFIX), strict=False))
    return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)
