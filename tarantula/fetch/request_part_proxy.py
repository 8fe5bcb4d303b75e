"""An HTTP proxy, as its URL names it."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tarantula.fetch.errors import InvalidRequest

DEFAULT_PROXY_PORT = 8080


class Proxy(NamedTuple):
    """Where a proxy is, and what it wants to hear first."""

    host: str
    port: int
    authorization: bytes = b""
    """The value of ``Proxy-Authorization``, or nothing."""


@lru_cache(maxsize=256)
def parse_proxy(url: str) -> Proxy:
    """Read the URL of a proxy; without a scheme it is http."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or DEFAULT_PROXY_PORT
    except ValueError as error:
        raise InvalidRequest(f"The proxy {url} is not a URL: {error}.") from error
    if parts.scheme != "http" or not parts.hostname:
        raise InvalidRequest(f"The proxy {url} is not one that can be used: only http://host:port is.")
    return Proxy(parts.hostname, port, _basic(parts.username, parts.password))


def _basic(user: str | None, password: str | None) -> bytes:
    if not user:
        return b""
    return b"Basic " + b64encode(f"{unquote(user)}:{unquote(password or '')}".encode())
