"""ASGI middleware: security headers, and clients that disconnect before the response."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula.core.errors import TarantulaError

PAGE_POLICY = (
    "default-src 'self'",
    # The pages' framework writes its scripts and styles into the page, and compiles templates in the browser.
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "font-src 'self' data:",
    "img-src 'self' data: blob:",
    # Archived pages have an origin of their own; only the page around one keeps it from leading its frame away.
    "frame-src {replay}",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def add_security_headers(connection: HTTPConnection, send: Send) -> Send:
    """Add the headers to an answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", content_policy(connection))
            headers.setdefault("Cache-Control", "no-store")
            if connection.scope["scheme"] == "https":
                headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        await send(message)

    return sending


def content_policy(connection: HTTPConnection) -> str:
    """Return what a page may load: what is ours, and archived pages in frames."""
    replay = connection.scope.get("state", {}).get("replay")
    try:
        shown = replay.origin(connection) if replay else "'none'"
    except TarantulaError:
        shown = "'none'"
    return "; ".join(PAGE_POLICY).format(replay=shown)


NO_RESPONSE = "No response returned."
"""What Starlette says of an answer that was given up because nobody waits for it."""


class DisconnectMiddleware:
    """Says nothing of answers that somebody did not wait for: a browser goes on to the next page at any moment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass."""
        left = False

        async def receiving() -> Message:
            nonlocal left
            message = await receive()
            left |= message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, receiving, send)
        except RuntimeError as error:
            if not left or str(error) != NO_RESPONSE:
                raise
