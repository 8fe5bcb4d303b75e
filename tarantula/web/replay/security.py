"""Isolation of archived pages: signed tickets in addresses, content security policies, response headers."""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from time import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TICKET_SECONDS = 3600
"""Seconds."""


class TicketSigner:
    """Writes tickets, and knows its own; those of another process are nothing to it."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def write(self, urn: str) -> str:
        """Return a ticket for an item."""
        return self._signed(urn, f"{int(self._clock()) + TICKET_SECONDS:x}")

    def admit(self, ticket: str, urn: str) -> bool:
        """Whether a ticket is ours, for that item, and still good."""
        until = ticket.partition("-")[0]
        # Signed first: what somebody else wrote is not read.
        if not hmac.compare_digest(self._signed(urn, until).encode(), ticket.encode()):
            return False
        return self._clock() < int(until, 16)

    def _signed(self, urn: str, until: str) -> str:
        digest = hmac.digest(self._key, f"{until} {urn}".encode(), sha256)
        return f"{until}-{urlsafe_b64encode(digest).decode().rstrip('=')}"


_OWN = "'self' data: blob:"
# Chromium does not obey the last one yet: a script that calls a peer gets around all the others. So none runs.
_NOTHING_ELSE = "connect-src 'none'; form-action 'none'; worker-src 'none'; manifest-src 'none'; webrtc 'block'"


def copy_policy(nonce: str) -> str:
    """Return the policy for copies: they load one another, and run nothing but our script, which has the *nonce*."""
    return (
        # Without allow-same-origin its origin is nobody's: no cookies, no storage, no way to the page around it.
        f"sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; "
        f"style-src 'self' 'unsafe-inline' data:; img-src {_OWN}; media-src {_OWN}; font-src {_OWN}; "
        f"frame-src 'self'; object-src 'self'; base-uri 'self'; {_NOTHING_ELSE}"
    )


STATIC_POLICY = (
    f"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; {_NOTHING_ELSE}"
)
"""For what is shown by itself: it loads nothing, and runs nothing."""

WRAPPER_POLICY = "default-src 'none'; frame-src 'self'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""For our page around a copy that is opened in a window of its own."""

REPLAY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-dns-prefetch-control": "off",
    "x-robots-tag": "noindex",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=()",
    # Fonts and modules are asked for across origins, and a sealed page has the origin "null".
    "access-control-allow-origin": "null",
}


class SandboxMiddleware:
    """Puts these headers on every answer, also on those that went wrong; nothing sets a cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass; websockets do not."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                del headers["set-cookie"]
                headers.setdefault("content-security-policy", STATIC_POLICY)
                headers.update(REPLAY_HEADERS)
            await send(message)

        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, answer)
