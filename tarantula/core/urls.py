"""URLs in their canonical form.

``canonical``, ``resolve`` and ``redirect_target`` return the URL that a browser would request, without the fragment.
All other code may therefore split URLs with plain string operations, and compare them with ``==``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from ada_url import join_url, normalize_url

SCHEMES = ("http://", "https://")
MAX_URL_LENGTH = 8192
"""Characters. Servers commonly refuse longer request lines."""
MAX_HOST_LENGTH = 253
"""Characters. RFC 1035 2.3.4: 255 octets on the wire are 253 characters in text."""
MAX_SERVER_LENGTH = MAX_HOST_LENGTH + len(":65535")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def canonical(url: str) -> str | None:
    """Return the canonical form of an absolute URL, or ``None`` if a browser could not parse it."""
    try:
        return normalize_url(url).partition("#")[0]
    except ValueError:
        return None


@lru_cache(maxsize=65536)
def resolve(base: str, reference: str) -> str | None:
    """Return the canonical URL of a *reference* on the page at *base*, or ``None`` if a browser could not parse it."""
    try:
        return join_url(base, reference).partition("#")[0]
    except ValueError:
        return None


def redirect_target(base: str, location: bytes) -> str | None:
    """Return the canonical URL of a Location header, or ``None``; like browsers, percent-encode its non-ASCII bytes."""
    return resolve(base, _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], location).decode("ascii"))


def is_web(url: str) -> bool:
    """Whether a canonical URL is http or https."""
    return url.startswith(SCHEMES)


def server_of(url: str) -> str:
    """Return the server of a canonical http(s) URL: the host name, with the port if it is not the default."""
    return url.split("/", 3)[2].rpartition("@")[2]


def origin_of(url: str) -> str:
    """Return the origin of a canonical http(s) URL: scheme and server."""
    return f"{url.partition(':')[0]}://{server_of(url)}"


def host_of(server: str) -> str:
    """Return a server's host name or address, without the port and without IPv6 brackets."""
    if server.startswith("["):
        return server[1 : server.index("]")]
    return server.partition(":")[0]


def path_of(url: str) -> str:
    """Return the path of a canonical http(s) URL, without the query."""
    return "/" + url.split("/", 3)[3].partition("?")[0]


def path_depth(url: str) -> int:
    """Return the depth of a canonical http(s) URL below its server's root: the slashes of its path but a final one."""
    return path_of(url).rstrip("/").count("/")


def key_of(url: str) -> bytes:
    """Return the 16-byte key of a canonical URL in the table of documents."""
    return blake2b(url.encode(), digest_size=16).digest()
