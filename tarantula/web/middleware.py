"""ASGI middleware: security headers, trusted host names, and clients that disconnect before the response."""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from secrets import token_urlsafe

from jinja2.ext import Extension
from nicegui.error import SAD_FACE_SVG
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.templating import Jinja2Templates
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula.core.errors import TarantulaError
from tarantula.core.sockets import TrustedHosts, untrusted_host

logger = logging.getLogger(__name__)

# Pages of NiceGUI: it compiles templates of Vue and runs commands of the server in the browser, both with eval.
# Scripts need the nonce of the response, or are loaded by one that has it. Quasar sets style attributes.
PAGE_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'unsafe-eval'; script-src-attr 'none'; "
    "style-src-elem 'self' 'nonce-{nonce}' {picture}; style-src-attr 'unsafe-inline'; font-src 'self' data:; "
    # Archived pages have their own origin; frame-src keeps them from navigating their frame elsewhere.
    "img-src 'self' data: blob:; frame-src {replay}; connect-src 'self'; form-action 'self'; "
)
# Login and search: pages of our own templates.
PLAIN_PAGE_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "
)
# Everything else shows and loads nothing: API, files, redirects, errors.
FILE_POLICY = "default-src 'none'; form-action 'none'; sandbox; "
ALL_POLICIES = "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
UNUSED_FEATURES = (
    "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "hid",
    "magnetometer", "microphone", "midi", "payment", "serial", "usb", "xr-spatial-tracking",
)  # fmt: skip
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES),
}
NONCE_BYTES = 16
_PICTURE_STYLES = "".join(re.findall(r"<style>(.*?)</style>", SAD_FACE_SVG, re.DOTALL))
PICTURE_STYLE = f"'sha256-{b64encode(sha256(_PICTURE_STYLES.encode()).digest()).decode()}'"
"""The style sheet in the picture on NiceGUI's page of an error."""


class SecurityHeadersMiddleware:
    """Adds the security headers to every response; outside of all other layers, so that errors have them too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with the nonce of its response as ``state.nonce``."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", content_policy(HTTPConnection(scope), headers))
                headers.setdefault("Cache-Control", "no-store")
                if scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", "max-age=31536000")
            await send(message)

        if scope["type"] == "http":
            scope.setdefault("state", {})["nonce"] = token_urlsafe(NONCE_BYTES)
        await self._app(scope, receive, sending)


def content_policy(connection: HTTPConnection, headers: Headers) -> str:
    """Return the content security policy of a response, by its kind."""
    nonce = connection.state.nonce
    if not headers.get("content-type", "").startswith("text/html"):
        return FILE_POLICY + ALL_POLICIES
    if headers.get("x-nicegui-content") != "page":
        return PLAIN_PAGE_POLICY.format(nonce=nonce) + ALL_POLICIES
    return PAGE_POLICY.format(nonce=nonce, picture=PICTURE_STYLE, replay=_replay_origin(connection)) + ALL_POLICIES


def _replay_origin(connection: HTTPConnection) -> str:
    replay = connection.scope["state"].get("replay")
    try:
        return str(replay.origin(connection)) if replay else "'none'"
    except TarantulaError:
        return "'none'"


class NonceExtension(Extension):
    """Gives the nonce of the response to the scripts and styles that a template has, and to none of its values."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source of a template with nonces."""
        source = source.replace('<script type="importmap">', f'{STYLE_NONCES}<script type="importmap">')
        source = TAGS_WITH_NONCE.sub(r'<\1 nonce="{{ request.state.nonce }}"', source)
        # NiceGUI's template gets the styles of its components in a value that begins with this tag.
        return source.replace(
            "{{ body_html | safe }}",
            """{{ body_html | replace("<style>", '<style nonce="' ~ request.state.nonce ~ '">', 1) | safe }}""",
        )


TAGS_WITH_NONCE = re.compile(r"<(script|style|link)(?=[\s>])")
STYLE_NONCES = """<script>{
  const nonce = document.currentScript.nonce, create = document.createElement;
  document.createElement = function (...given) {
    const element = create.apply(this, given);
    if (element.localName === "style") element.nonce = nonce;
    return element;
  };
}</script>"""
"""Gives the nonce to the style sheets that scripts create: Tailwind, Quasar, charts and maps."""


def templates_with_nonces() -> Jinja2Templates:
    """Return our own templates."""
    templates = Jinja2Templates(Path(__file__).parent / "templates")
    templates.env.add_extension(NonceExtension)
    return templates


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
            await answer(scope, receive, send)
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
