"""Where archived pages are shown: another origin, on a port of its own, which knows whoever has a ticket."""

from __future__ import annotations

import re
from typing import NamedTuple

from nicegui import Client
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from tarantula.core.errors import TarantulaError
from tarantula.web.picker.service import PickerService
from tarantula.web.replay.security import TicketSigner

_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)

RequestOrClient = HTTPConnection | Client
"""Who asks: a request, or a page that came of one."""


class ReplayOrigin(NamedTuple):
    """The other origin, as the management pages know it."""

    tickets: TicketSigner
    port: int
    address: str = ""
    """Where browsers find it, if that is not the same host with another port: behind a proxy."""
    picking: PickerService | None = None
    """Pages that are open there to be pointed at."""

    def origin(self, connection: HTTPConnection) -> str:
        """Return where whoever asks finds it."""
        if self.address:
            return self.address
        host = connection.url.hostname or ""
        host = f"[{host}]" if ":" in host else host
        if not _HOST.fullmatch(host):
            raise TarantulaError("The request names no host, so archived pages cannot be shown. Ask by its name.")
        scheme = "https" if connection.url.scheme in ("https", "wss") else "http"
        return f"{scheme}://{host}:{self.port}"


def checked_address(address: str) -> str:
    """Return the origin that an address names, or say how to write one."""
    origin = address.rstrip("/")
    if address and not _ADDRESS.fullmatch(origin):
        raise TarantulaError(f"{address[:100]!r} is no origin. Write it as https://replay.example.org, without a path.")
    return origin


def mirror_address(where: RequestOrClient, urn: str) -> str:
    """Return where an item's mirror begins."""
    return f"{_begin(where, urn)}/copy/index.html"


def copy_address(where: RequestOrClient, urn: str, document_id: int) -> str:
    """Return where the copy of a document is shown; if it has none, the document, whose links lead nowhere."""
    return f"{_begin(where, urn)}/document/{document_id}"


def original_address(where: RequestOrClient, urn: str, document_id: int) -> str:
    """Return where the bytes of a document are, as its server sent them."""
    return f"{_begin(where, urn)}/original/{document_id}"


def _begin(where: RequestOrClient, urn: str) -> str:
    connection = where.request if isinstance(where, Client) else where
    replay: ReplayOrigin = connection.state.replay
    return f"{replay.origin(connection)}/{replay.tickets.write(urn)}/{urn}"


class ReplayMiddleware:
    """Tells every request where archived pages are."""

    def __init__(self, app: ASGIApp, replay: ReplayOrigin) -> None:
        self._app = app
        self._replay = replay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass."""
        if scope["type"] in ("http", "websocket"):
            scope.setdefault("state", {})["replay"] = self._replay
        await self._app(scope, receive, send)
