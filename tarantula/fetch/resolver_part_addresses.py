"""Which addresses belong to the public internet."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_NOT_PUBLIC = (
    ip_network("192.0.0.0/24"),  # IETF protocol assignments; a cloud's metadata service is at .192
    ip_network("192.88.99.0/24"),  # the way to 6to4 relays, deprecated
    ip_network("168.63.129.16/32"),  # a cloud's wire server, public only by number
)


@lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Whether an address can belong to a server that everybody reaches."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        inner = _inner(parsed)
        if inner is None:
            return parsed in _GLOBAL_UNICAST and parsed.is_global and not parsed.is_multicast
        parsed = inner
    return parsed.is_global and not parsed.is_multicast and not any(parsed in network for network in _NOT_PUBLIC)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address leads to."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
