"""Isolation of archived pages: signed tickets in addresses, content security policies, response headers."""

from __future__ import annotations

import hmac
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from time import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TICKET_SECONDS = 3600
"""Validity of a ticket."""


class TicketSigner:
    """Signs tickets with a key of this process, and verifies them."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def sign(self, urn: str) -> str:
        """Return a ticket for an item."""
        return self._signed(urn, f"{int(self._clock()) + TICKET_SECONDS:x}")

    def verify(self, ticket: str, urn: str) -> bool:
        """Whether a ticket is valid for an item and has not expired."""
        expires = ticket.partition("-")[0]
        # Verify the signature before parsing the ticket.
        if not hmac.compare_digest(self._signed(urn, expires).encode(), ticket.encode()):
            return False
        return self._clock() < int(expires, 16)

    def _signed(self, urn: str, expires: str) -> str:
        digest = hmac.digest(self._key, f"{expires} {urn}".encode(), sha256)
        return f"{expires}-{urlsafe_b64encode(digest).decode().rstrip('=')}"


_OWN = "'self' data: blob:"
# Chromium does not enforce webrtc yet: a script could connect to a peer. Therefore no foreign script runs.
_NOTHING_ELSE = "connect-src 'none'; form-action 'none'; worker-src 'none'; manifest-src 'none'; webrtc 'block'"


def copy_policy(nonce: str) -> str:
    """Return the policy of archived pages: resources of the same origin, no script but ours with the *nonce*."""
    return (
        # Without allow-same-origin the page has an opaque origin: no cookies, no storage, no access to the parent page.
        f"sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; "
        f"style-src 'self' 'unsafe-inline' data:; img-src {_OWN}; media-src {_OWN}; font-src {_OWN}; "
        f"frame-src 'self'; object-src 'self'; base-uri 'self'; {_NOTHING_ELSE}"
    )


STATIC_POLICY = (
    f"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; {_NOTHING_ELSE}"
)
"""Policy of single resources: no scripts, no further loads."""

WRAPPER_STYLE = "html, body, iframe { border: 0; display: block; height: 100%; margin: 0; width: 100% }"
_WRAPPER_DIGEST = b64encode(sha256(WRAPPER_STYLE.encode()).digest()).decode()
WRAPPER_POLICY = (
    f"default-src 'none'; frame-src 'self'; style-src 'sha256-{_WRAPPER_DIGEST}'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""Policy of our wrapper page around a copy in a window of its own."""

REPLAY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-dns-prefetch-control": "off",
    "x-robots-tag": "noindex",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=()",
    # Fonts and modules are fetched with CORS, and a sandboxed page has the origin "null".
    "access-control-allow-origin": "null",
}


class SandboxMiddleware:
    """Adds the isolation headers to every response, also to errors, and removes cookies."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass HTTP requests on; close WebSocket connections."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                del headers["set-cookie"]
                headers.setdefault("content-security-policy", STATIC_POLICY)
                headers.update(REPLAY_HEADERS)
            await send(message)

        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, sending)
