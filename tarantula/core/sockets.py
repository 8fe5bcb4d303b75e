"""Listening sockets of the web server, the gateway and the barrels."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol
from urllib.parse import urlsplit

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message

WILDCARD_HOSTS = ("0.0.0.0", "::", "")
_HOST_HEADER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_listener(host: str, port: int, option: str = "--port") -> socket.socket:
    """Return a socket that listens on a port; 0 is any free one. *option* is the command's option for another port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Connections that arrive before the application is ready wait in the backlog.
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise TarantulaError(
            "Port {port} of {host} cannot be used ({reason}). Choose another with {option}.",
            port=port,
            host=host,
            reason=reason,
            option=option,
        ) from error
    return listener


def listener_url(host: str, listener: socket.socket) -> str:
    """Return the http URL of a listening socket."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


class TrustedHosts:
    """The names that a server answers to, so that a foreign name that is made to resolve to this machine gets nothing.

    Besides the listed names: the address at which a connection arrived, and the names of loopback if it arrived there.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [pattern.lower().strip("[]") for pattern in patterns]
        self._accepted: set[tuple[str, str]] = set()

    def accepts(self, header: str, local_address: str) -> bool:
        """Whether a Host header names this server, for a connection that arrived at a local address."""
        if (header, local_address) in self._accepted:
            return True
        found = _HOST_HEADER.fullmatch(header)
        if found is None:
            return False
        host = (found[1] or found[2]).lower().removesuffix(".")
        if not (self._is_listed(host) or _is_local(host, local_address)):
            return False
        if len(self._accepted) < MAX_REMEMBERED_HOSTS:
            self._accepted.add((header, local_address))
        return True

    def _is_listed(self, host: str) -> bool:
        return any(fnmatchcase(host, pattern) for pattern in self._patterns)


MAX_REMEMBERED_HOSTS = 1000


class HostSettings(Protocol):
    """Settings of an installation: `tarantula.core.config.Config`."""

    @property
    def hosts(self) -> list[str]: ...


def trusted_hosts(installation: HostSettings, host: str, address: str = "") -> TrustedHosts:
    """Return the names of a server: those that are listed, of its ``--host``, and of its public address."""
    own = (host if host not in WILDCARD_HOSTS else "", urlsplit(address).hostname or "")
    return TrustedHosts([*installation.hosts, *filter(None, own)])


def untrusted_host(header: str) -> Message:
    """Return the sentence for a request with a Host header that `TrustedHosts` does not accept."""
    return Message(
        "This server does not answer to the host name {host!r}. Use the address that its command printed, "
        "or add the name to TARANTULA_TRUSTED_HOSTS.",
        host=header[:100],
    )


def _is_local(host: str, local_address: str) -> bool:
    local = _address(local_address.partition("%")[0])
    if local is None:
        return False
    return (local.is_loopback and is_loopback(host)) or _address(host) == local


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(text)
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed
