"""ASGI middleware: security headers, trusted host names, and clients that disconnect before the response."""

from __future__ import annotations

import logging
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula.core.errors import TarantulaError
from tarantula.core.sockets import TrustedHosts, untrusted_host

logger = logging.getLogger(__name__)

PAGE_POLICY = (
    "default-src 'self'",
    # NiceGUI writes inline scripts and styles, and compiles templates in the browser.
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "font-src 'self' data:",
    "img-src 'self' data: blob:",
    # Archived pages have their own origin; frame-src keeps them from navigating their frame elsewhere.
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
    """Return a `send` that adds the security headers to a response."""

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
    """Return the content security policy of a page: our own resources, and archived pages in frames."""
    replay = connection.scope.get("state", {}).get("replay")
    try:
        origin = replay.origin(connection) if replay else "'none'"
    except TarantulaError:
        origin = "'none'"
    return "; ".join(PAGE_POLICY).format(replay=origin)


class TrustedHostMiddleware:
    """Refuses requests whose Host header does not name this server."""

    def __init__(self, app: ASGIApp, hosts: TrustedHosts, *, has_proxies: bool = True) -> None:
        self._app = app
        self._hosts = hosts
        self._warns = not has_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._warns and "x-forwarded-proto" in headers:
            self._warns = False
            logger.warning(
                "A request has the header X-Forwarded-Proto. If a proxy has sent it, add the proxy's address to "
                "TARANTULA_TRUSTED_PROXIES; until then such headers are ignored."
            )
        if self._hosts.accepts(host, (scope.get("server") or ("",))[0]):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = JSONResponse({"detail": str(untrusted_host(host))}, HTTPStatus.MISDIRECTED_REQUEST)
            await answer(scope, receive, add_security_headers(HTTPConnection(scope), send))
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1008})


NO_RESPONSE = "No response returned."
"""Starlette's message for a response that was abandoned because the client disconnected."""


class DisconnectMiddleware:
    """Suppresses the error of a response whose client has disconnected."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        disconnected = False

        async def receiving() -> Message:
            nonlocal disconnected
            message = await receive()
            disconnected |= message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, receiving, send)
        except RuntimeError as error:
            if not disconnected or str(error) != NO_RESPONSE:
                raise
