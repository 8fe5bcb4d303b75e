"""Server patterns as people write them.

``www.fc.ul.pt`` is one server, ``.fc.ul.pt`` the domain and all its subdomains, ``*.fc.ul.pt`` only the subdomains,
``127.0.0.*`` addresses, ``*`` any server. A pattern without a port matches any port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate

from tarantula.core.messages import Message
from tarantula.core.urls import canonical, server_of

DEFAULT_PORTS = ("80", "443")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_ADDRESS = re.compile(r"(?=.*[0-9])[0-9.*]+")
_NUMBERS = re.compile(r"[0-9.]+")
_BALANCED = re.compile(r"\[[^]]*:[^]]*\](:.*)?|[^][]*")
_FORBIDDEN_IN_HOST = re.compile(r"[?#@%\\]")
_NAME = re.compile(r"[a-z0-9_*-]+(\.[a-z0-9_*-]+)*")


@dataclass(frozen=True, slots=True)
class ServerPattern:
    """One pattern in canonical form: patterns with the same meaning are equal."""

    name: str
    port: str = ""
    """Empty matches any port."""
    _expression: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        below = self.name.startswith(".")
        expression = ("(?:.+[.])?" if below else "") + translate(self.name.removeprefix("."))
        object.__setattr__(self, "_expression", re.compile(expression, re.DOTALL))

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{name}:{self.port}" if self.port else name

    @property
    def is_address(self) -> bool:
        """Whether it is an address or a pattern of addresses, and no name can match it."""
        return ":" in self.name or _ADDRESS.fullmatch(self.name) is not None

    def matches(self, host: str, port: str) -> bool:
        """Whether it matches a host and a port; an empty port is the default one of the scheme."""
        if self.port and self.port != port and (port or self.port not in DEFAULT_PORTS):
            return False
        # 127.0.0.* matches addresses only, not the server 127.0.0.example.org.
        if _ADDRESS.fullmatch(self.name) and not _NUMBERS.fullmatch(host):
            return False
        return self._expression.match(host) is not None


class ServerPatterns:
    """Several patterns; a server matches if one of them does."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._patterns = tuple(parse_pattern(text) for text in texts)

    def __iter__(self) -> Iterator[ServerPattern]:
        return iter(self._patterns)

    def match(self, server: str) -> ServerPattern | None:
        """Return the first pattern that matches this server."""
        host, port = split_server(server)
        return next((pattern for pattern in self._patterns if pattern.matches(host, port)), None)


def split_server(server: str) -> tuple[str, str]:
    """Return a server's host, without brackets and final dot, and its port, empty if it has none."""
    if server.startswith("["):
        host, _, port = server[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = server.partition(":")
    return host.removesuffix("."), port


def parse_pattern(text: str) -> ServerPattern:
    """Parse a pattern; raise ``ValueError`` with a message for the user if it is invalid."""
    shown, authority = repr(text[:80]), _authority(text)
    if authority.count(":") > 1 and not authority.startswith("["):
        authority = f"[{authority}]"
    host, port = split_server(authority) if _BALANCED.fullmatch(authority) else ("", "")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise ValueError(
            Message("The port of the server pattern {shown} is not a number from 1 to 65535.", shown=shown)
        )
    name = None if _FORBIDDEN_IN_HOST.search(host) else _address_pattern(host) or _name_pattern(host)
    if name is None:
        raise ValueError(
            Message("The server pattern {shown} is neither a name, nor an address, nor a pattern of them.", shown=shown)
        )
    return ServerPattern(name, port.lstrip("0"))


def _authority(text: str) -> str:
    shown, text = repr(text[:80]), text.strip()
    if not text:
        raise ValueError(Message("A server pattern is empty."))
    if scheme := _SCHEME.match(text):
        if scheme[1].lower() not in ("http", "https"):
            raise ValueError(
                Message(
                    "The server pattern {shown} is not a web server: remove {scheme}.", shown=shown, scheme=scheme[0]
                )
            )
        text = re.split("[/?#]", text[scheme.end() :], maxsplit=1)[0]
    text = text.removesuffix("/")
    if "/" in text:
        raise ValueError(
            Message("The server pattern {shown} has a path. Write only the server, as .fc.ul.pt.", shown=shown)
        )
    if any(character.isspace() for character in text):
        raise ValueError(
            Message("The server pattern {shown} has a space in it; separate patterns with a semicolon.", shown=shown)
        )
    return text


def _address_pattern(host: str) -> str | None:
    if ":" in host:
        url = canonical(f"http://[{host}]/")
        return split_server(server_of(url))[0] if url else None
    if "*" not in host:
        return None
    return host if _ADDRESS.fullmatch(host) and ".." not in host and not host.startswith(".") else None


def _name_pattern(host: str) -> str | None:
    below = "." if host.startswith(".") else ""
    url = canonical(f"http://{host.removeprefix('.')}/") if host else None
    name = server_of(url) if url else ""
    if not _NAME.fullmatch(name) or (below and _ADDRESS.fullmatch(name)):
        return None
    return below + name
