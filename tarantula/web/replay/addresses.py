"""Addresses of archived pages on the replay origin, and the frame that shows one."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from nicegui import Client
from nicegui.element import Element
from nicegui.events import GenericEventArguments
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from tarantula.core.errors import TarantulaError
from tarantula.web.picker.service import PickerService
from tarantula.web.replay.security import TicketSigner

_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
MAX_MESSAGE_LENGTH = 2000
"""Maximum length of a message."""


RequestOrClient = HTTPConnection | Client
"""A request, or the client of a page."""


class ReplayOrigin(NamedTuple):
    """The replay origin, as the management app sees it."""

    tickets: TicketSigner
    port: int
    address: str = ""
    """Public address, if it differs from the same host with another port, as behind a proxy."""
    picker: PickerService | None = None
    """Picker service of the same origin."""

    def origin(self, connection: HTTPConnection) -> str:
        """Return the origin for a request."""
        if self.address:
            return self.address
        host = connection.url.hostname or ""
        host = f"[{host}]" if ":" in host else host
        if not _HOST.fullmatch(host):
            raise TarantulaError("The request has no host name, so archived pages cannot be shown. Use its host name.")
        scheme = "https" if connection.url.scheme in ("https", "wss") else "http"
        return f"{scheme}://{host}:{self.port}"


def checked_address(address: str) -> str:
    """Return a valid origin without trailing slash; raise `TarantulaError` otherwise."""
    origin = address.rstrip("/")
    if address and not _ADDRESS.fullmatch(origin):
        raise TarantulaError(
            "{address!r} is not an origin. Write it as https://replay.example.org, without a path.",
            address=address[:100],
        )
    return origin


def mirror_address(target: RequestOrClient, urn: str) -> str:
    """Return the address of an item's mirror."""
    return f"{_prefix(target, urn)}/copy/index.html"


def copy_address(target: RequestOrClient, urn: str, document_id: int) -> str:
    """Return the address of a document in the mirror; without a copy there, of the stored document."""
    return f"{_prefix(target, urn)}/document/{document_id}"


def original_address(target: RequestOrClient, urn: str, document_id: int) -> str:
    """Return the address of the original response body."""
    return f"{_prefix(target, urn)}/original/{document_id}"


def _prefix(target: RequestOrClient, urn: str) -> str:
    connection = target.request if isinstance(target, Client) else target
    replay: ReplayOrigin = connection.state.replay
    return f"{replay.origin(connection)}/{replay.tickets.sign(urn)}/{urn}"


class ReplayMiddleware:
    """Sets ``state.replay`` of each request."""

    def __init__(self, app: ASGIApp, replay: ReplayOrigin) -> None:
        self._app = app
        self._replay = replay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] in ("http", "websocket"):
            scope.setdefault("state", {})["replay"] = self._replay
        await self._app(scope, receive, send)


class FrameMessage(NamedTuple):
    """A message of an archived page. A hostile page may have sent it."""

    kind: str
    """One of: place (path of the page shown), leads (target of an external link), key (pressed key)."""
    text: str


class ReplayFrame(Element, component="sealed_frame.js"):
    """Shows an archived page and receives its messages."""

    def __init__(self, label: str, on_message: Callable[[FrameMessage], Awaitable[None]] | None = None) -> None:
        super().__init__()
        self._props["address"] = ""
        self._props["label"] = label
        self._props["turn"] = 0
        self._props["marks"] = []

        async def receive(event: GenericEventArguments) -> None:
            if on_message is not None and (message := read_frame_message(event.args)) is not None:
                await on_message(message)

        self.on("said", receive)

    def show(self, address: str, marks: list[str] | None = None) -> None:
        """Show an address, or nothing, in a new frame without the state of the previous one."""
        self._props["address"] = address
        self._props["turn"] += 1
        self._props["marks"] = marks or []
        self.update()

    def mark_lines(self, texts: list[str]) -> None:
        """Highlight lines of the page."""
        self._props["marks"] = texts
        self.update()


def read_frame_message(message: Any) -> FrameMessage | None:
    """Return a valid message of the frame, or None."""
    if not isinstance(message, dict):
        return None
    kind, text = message.get("kind"), message.get("text")
    if kind not in ("place", "leads", "key") or not isinstance(text, str) or len(text) > MAX_MESSAGE_LENGTH:
        return None
    return FrameMessage(kind, text)
