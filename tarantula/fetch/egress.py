"""The egress policy: which addresses may be connected to; sockets that obey it for libraries of others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple, Protocol, Self

from tarantula.core.reasons import Reason
from tarantula.core.urls import host_of, server_of
from tarantula.fetch.exchange import PrivateAddress

EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


Network = IPv4Network | IPv6Network

LOCALHOST = "localhost"
"""RFC 6761, 6.3: this name is loopback everywhere, and never asked of a name server."""
DEFAULT_PORTS = frozenset({80, 443})
MAX_REMEMBERED_DECISIONS = 10_000

_PRIVATE = tuple(
    map(
        ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10", "::1/128", "fc00::/7"),
    )
)
_SPECIAL = tuple(
    map(
        ip_network,
        (
            # Metadata services of clouds, some of them at private or public numbers.
            *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
            # IETF protocol assignments, with one more metadata service at .192; and the way to 6to4 relays, deprecated.
            *("192.0.0.0/24", "192.88.99.0/24"),
            # Documentation (RFC 9637), unknown to older versions of Python.
            "3fff::/20",
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class EgressSettings(Protocol):
    """Settings of an installation: `tarantula.core.config.Config`."""

    @property
    def networks(self) -> tuple[Network, ...]: ...

    @property
    def proxy_guards(self) -> bool: ...


class AddressKind(Enum):
    """Use of an address."""

    PUBLIC = "public"
    PRIVATE = "private"
    """Loopback and private networks, where a publication or a source may allow them."""
    SPECIAL = "special"
    """Metadata services, link-local, multicast, broadcast, documentation and other reserved ranges."""


@lru_cache(maxsize=4096)
def address_kind(address: str) -> AddressKind:
    """Return the kind of an address, which may have a zone, as ``fe80::1%eth0``."""
    parsed = _unmapped(ip_address(address.partition("%")[0]))
    if any(parsed in network for network in _SPECIAL):
        return AddressKind.SPECIAL
    if any(parsed in network for network in _PRIVATE):
        return AddressKind.PRIVATE
    if isinstance(parsed, IPv6Address):
        if (embedded := _embedded(parsed)) is not None:
            is_public = is_public_address(str(embedded))
        else:
            is_public = parsed in _GLOBAL_UNICAST and parsed.is_global
    else:
        is_public = parsed.is_global
    return AddressKind.PUBLIC if is_public and not parsed.is_multicast else AddressKind.SPECIAL


def is_public_address(address: str) -> bool:
    """Whether an address is on the public internet."""
    return address_kind(address) is AddressKind.PUBLIC


def _unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address of a mapped one, ``::ffff:10.0.0.1``, to which the system connects with IPv4."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address to which a gateway would translate (NAT64) or tunnel (6to4), or ``None``."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour


class NamedAddress(NamedTuple):
    """An address that a person wrote: the host of a URL, or a pattern of addresses."""

    pattern: str
    ports: frozenset[int] = frozenset()
    """Ports that it holds for; empty: all."""

    @classmethod
    def of_url(cls, url: str) -> Self | None:
        """Return the host of a canonical URL with its port, or ``None`` if the host is a name."""
        server = server_of(url)
        host = host_of(server)
        port = server.removeprefix(f"[{host}]").removeprefix(host).removeprefix(":")
        named = cls(host, frozenset({int(port)}) if port else DEFAULT_PORTS)
        return named if host == LOCALHOST or named.is_literal() else None

    def is_literal(self) -> bool:
        """Whether it is one address."""
        return is_literal(self.pattern)

    def covers(self, host: str, port: int, address: str) -> bool:
        """Whether a host that is written as an address, and is that address, is meant."""
        if self.ports and port not in self.ports:
            return False
        if self.pattern == LOCALHOST:
            return host == LOCALHOST and ip_address(address).is_loopback
        return is_literal(host) and ip_address(host) == ip_address(address) and fnmatchcase(host, self.pattern)

    def __str__(self) -> str:
        host = f"[{self.pattern}]" if ":" in self.pattern else self.pattern
        return ", ".join(f"{host}:{port}" for port in sorted(self.ports)) or host


@dataclass(frozen=True)
class EgressPolicy:
    """Decides which addresses may be connected to; without arguments public ones only."""

    networks: tuple[Network, ...] = ()
    """Networks that the installation lists; any host in them is permitted."""
    named: tuple[NamedAddress, ...] = ()
    """Addresses that the publication or source names."""
    allow_private: bool = False
    """Whether all private addresses are permitted; those of special use are not."""
    proxy_guards: bool = False
    """Whether the proxy refuses private addresses itself, so that names need not be resolved here."""
    _decisions: dict[tuple[str, int, str], bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        installation: EgressSettings,
        urls: Iterable[str] = (),
        patterns: Iterable[NamedAddress] = (),
        *,
        allow_private: bool = False,
    ) -> Self:
        """Return the policy of an installation for canonical URLs and address patterns that a curator wrote."""
        named = (*filter(None, map(NamedAddress.of_url, urls)), *patterns)
        return cls(installation.networks, named, allow_private, installation.proxy_guards)

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether *address*, which *host* is at, may be connected to."""
        if is_public_address(address):
            return True
        decided = self._decisions.get((host, port, address))
        if decided is None:
            if len(self._decisions) >= MAX_REMEMBERED_DECISIONS:
                self._decisions.clear()
            decided = self._decisions[host, port, address] = self._decide(host, port, address)
        return decided

    def permitted(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """Return the addresses of a host that may be connected to; raise `PrivateAddress` if there is none."""
        kept = [address for address in addresses if self.permits(host, port, address)]
        if not kept:
            raise PrivateAddress(refusal(host, addresses[0]))
        return kept

    def check_all(self, host: str, port: int, addresses: Iterable[str]) -> None:
        """Raise `PrivateAddress` if one of the addresses of a host may not be connected to."""
        for address in addresses:
            if not self.permits(host, port, address):
                raise PrivateAddress(refusal(host, address))

    def check_literal(self, host: str, port: int) -> None:
        """Raise `PrivateAddress` for a host that is itself an address which may not be connected to."""
        if is_literal(host):
            self.check_all(host, port, [host])

    def describe(self) -> Reason:
        """Return what is permitted, as a reason that is stored and shown with an item."""
        if self.allow_private:
            reason = Reason.of("egress_private")
        elif self.named:
            reason = Reason.of("egress_named", addresses=", ".join(map(str, self.named)))
        else:
            reason = Reason.of("egress_public")
        if self.networks:
            reason = reason.with_note(Reason.of("egress_networks", networks=", ".join(map(str, self.networks))))
        return reason.with_note(Reason.of("egress_proxy")) if self.proxy_guards else reason

    def _decide(self, host: str, port: int, address: str) -> bool:
        parsed = _unmapped(ip_address(address.partition("%")[0]))
        if any(parsed in network for network in self.networks):
            return True
        if address_kind(address) is not AddressKind.PRIVATE:
            return False
        return self.allow_private or any(named.covers(host, port, address) for named in self.named)


UNRESTRICTED = EgressPolicy(networks=(IPv4Network("0.0.0.0/0"), IPv6Network("::/0")), proxy_guards=True)
"""For servers that the operator configured, such as barrels and proxies; never for an address from the web."""


def refusal(host: str, address: str) -> Reason:
    """Return the reason why a host is not visited at *address*."""
    special = address_kind(address) is AddressKind.SPECIAL
    if special:
        return Reason.of("special_address", host=host, address=address)
    return Reason.of("private_address", host=host, address=address)


def is_literal(host: str) -> bool:
    """Whether a host is an address."""
    if not (host[:1].isdigit() or ":" in host):
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class ConnectionNotPermitted(OSError):
    """The egress policy does not permit a connection. Libraries treat it as an address that cannot be reached."""


class _Guard(threading.local):
    policy: EgressPolicy | None = None
    refused: list[Reason] | None = None


_guard = _Guard()


@contextmanager
def guarded_sockets(policy: EgressPolicy) -> Iterator[list[Reason]]:
    """Let this thread connect only to permitted addresses; yield a list that gets the reason of each refusal."""
    _install_hook()
    refused: list[Reason] = []
    _guard.policy, _guard.refused = policy, refused
    try:
        yield refused
    finally:
        _guard.policy = _guard.refused = None


@cache
def _install_hook() -> None:
    sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in EVENTS and _guard.policy is not None and args[1] is not None:
        _check(_guard.policy, args[1])


def _check(policy: EgressPolicy, target: Any) -> None:
    if isinstance(target, tuple) and len(target) >= 2:
        address, port = str(target[0]), int(target[1])
        if _permits(policy, address, port):
            return
        reason = refusal(address, address)
    else:
        # A socket in the file system, as of the system's log.
        reason = Reason.of("socket_not_permitted", target=str(target)[:100])
    assert _guard.refused is not None
    _guard.refused.append(reason)
    raise ConnectionNotPermitted(str(reason))


def _permits(policy: EgressPolicy, address: str, port: int) -> bool:
    try:
        return policy.permits(address, port, address)
    except ValueError:
        # A name: the system would resolve it unseen.
        return False
