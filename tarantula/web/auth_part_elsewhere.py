"""Whether a request was made by a page of another site, or of another port of this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

OWN_SITES = ("same-origin", "none")
"""What a browser says of requests of our own pages, and of addresses that somebody typed."""
SAFE_METHODS = ("GET", "HEAD")
DEFAULT_PORTS = {"http": 80, "https": 443}


def is_cross_site(connection: HTTPConnection) -> bool:
    """Whether another site is behind a request; only a link that somebody follows may lead here from there.

    Cookies do not tell ports apart, so a page of another port would come with our cookie.
    """
    site = connection.headers.get("sec-fetch-site")
    if site is not None and site not in OWN_SITES and not _follows_link(connection):
        return True
    origin = connection.headers.get("origin")
    return origin is not None and not _is_own(connection, origin)


def _follows_link(connection: HTTPConnection) -> bool:
    return (
        connection.scope.get("method") in SAFE_METHODS
        and connection.headers.get("sec-fetch-mode") == "navigate"
        and connection.headers.get("sec-fetch-dest") == "document"
    )


def _is_own(connection: HTTPConnection, origin: str) -> bool:
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{connection.headers.get('host', '')}")
        scheme = "https" if connection.scope["scheme"] in ("https", "wss") else "http"
        port = theirs.port or DEFAULT_PORTS.get(theirs.scheme)
        return (theirs.scheme, theirs.hostname, port) == (scheme, ours.hostname, ours.port or DEFAULT_PORTS[scheme])
    except ValueError:
        return False
