"""Stands before every request: says who asks, and refuses what another site makes a browser ask."""

from __future__ import annotations

from time import monotonic
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula.accounts.roles_part_person import Person
from tarantula.core.errors import TarantulaError
from tarantula.web.auth_part_elsewhere import SAFE_METHODS, is_cross_site
from tarantula.web.auth_part_gate import SESSION_COOKIE, Authenticator
from tarantula.web.i18n import LANGUAGE_COOKIE, negotiate_language, set_language
from tarantula.web.middleware import add_security_headers

TOKEN_PATHS = ("/api/", "/metrics")
"""Where a token is looked at."""
PUBLIC_PATHS = ("/_nicegui/", "/favicon.ico", "/health")
"""Where nobody is asked who they are: what can be looked at there is the same for all."""
ANONYMOUS_PATHS = ("/begin", "/login", "/logout", "/language/", *TOKEN_PATHS)
"""Where somebody comes who has not logged in; the API says by itself that this will not do."""
ANY_TEXT_PATHS = ("/search", "/search/complete", "/search/suggest")
"""Pages that make something of whatever is typed, zero bytes too."""
SESSION_CHECK_SECONDS = 2.0
"""Seconds after which it is seen whether the session of an open page has ended."""
EVENT_STREAM = "text/event-stream"
SESSION_ENDED_CODE = 4401
"""Closes the connection of a page whose session has ended."""
MAX_REQUEST_BYTES = 16 * 1024 * 1024
"""Bytes of a request."""


class AuthMiddleware:
    """Tells every request who asks, in ``state.person``, and in which language."""

    def __init__(self, app: ASGIApp, gate: Authenticator) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        send = add_security_headers(connection, send)
        try:
            _check(connection)
            person = await self._person(connection)
        except RequestRefused as error:
            await _refuse(error, scope, receive, send)
            return
        except TarantulaError as error:
            await _refuse(RequestRefused(503, str(error)), scope, receive, send)
            return
        self._tell(connection, person)
        if person is None and not _is_open(connection):
            await _ask_to_log_in(connection, receive, send)
        elif scope["type"] == "http":
            answer = send if person is None or person.session is None else self._cut_off(connection, person, send)
            await self._app(scope, _limited(receive), answer)
        else:
            assert person is not None, "no connection is open to strangers"
            await self._app(scope, self._watched(connection, person, receive), send)

    async def _person(self, connection: HTTPConnection) -> Person | None:
        path = connection.scope["path"]
        if _is_file(connection):
            return None
        kind, _, token = connection.headers.get("authorization", "").partition(" ")
        if kind and path.startswith(TOKEN_PATHS):
            return await run_in_threadpool(self._gate.program, token.strip()) if kind.lower() == "bearer" else None
        secret = connection.cookies.get(SESSION_COOKIE)
        # A page that listens for news does not show that somebody is there.
        listens = connection.scope["type"] != "http" or connection.headers.get("accept") == EVENT_STREAM
        return await run_in_threadpool(self._gate.person, secret, present=not listens) if secret else None

    def _tell(self, connection: HTTPConnection, person: Person | None) -> None:
        state = connection.scope.setdefault("state", {})
        state["gate"], state["person"] = self._gate, person
        chosen = connection.cookies.get(LANGUAGE_COOKIE)
        state["language"] = negotiate_language(chosen, connection.headers.get("accept-language", ""))
        set_language(state["language"])

    def _watched(self, connection: HTTPConnection, person: Person, receive: Receive) -> Receive:
        """Close the connection of an open page soon after its session has ended."""
        secret = connection.cookies.get(SESSION_COOKIE)
        looked = monotonic()

        async def watched() -> Message:
            nonlocal looked
            message = await receive()
            if message["type"] != "websocket.receive" or monotonic() < looked + SESSION_CHECK_SECONDS:
                return message
            looked = monotonic()
            # What the page says by itself, as that it is still there, does not keep the session going.
            by_hand = (message.get("text") or "").startswith('42["event"')
            still = await self._is_still(secret, person, present=by_hand)
            return message if still else {"type": "websocket.disconnect", "code": SESSION_ENDED_CODE}

        return watched

    def _cut_off(self, connection: HTTPConnection, person: Person, send: Send) -> Send:
        """End an answer that goes on and on soon after its session has ended."""
        secret = connection.cookies.get(SESSION_COOKIE)
        looked, is_over = monotonic(), False

        async def sending(message: Message) -> None:
            nonlocal looked, is_over
            if message.get("more_body") and monotonic() >= looked + SESSION_CHECK_SECONDS:
                looked = monotonic()
                if not is_over and not await self._is_still(secret, person):
                    is_over = True
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            if not is_over:
                await send(message)

        return sending

    async def _is_still(self, secret: str | None, person: Person, *, present: bool = False) -> bool:
        try:
            return await run_in_threadpool(self._gate.person, secret, present=present) == person
        except TarantulaError:
            # A database that is away for a moment ends nobody's session.
            return True


class RequestRefused(Exception):
    """A request that does not pass."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def _is_file(connection: HTTPConnection) -> bool:
    return connection.scope.get("method") in SAFE_METHODS and connection.scope["path"].startswith(PUBLIC_PATHS)


def _is_open(connection: HTTPConnection) -> bool:
    is_request = connection.scope["type"] == "http"
    return is_request and (_is_file(connection) or connection.scope["path"].startswith(ANONYMOUS_PATHS))


async def _ask_to_log_in(connection: HTTPConnection, receive: Receive, send: Send) -> None:
    scope = connection.scope
    if scope.get("method") not in SAFE_METHODS or scope["path"].startswith("/_nicegui_ws"):
        await _refuse(RequestRefused(403, "Log in first."), scope, receive, send)
        return
    query = scope["query_string"].decode("latin-1")
    wanted = quote(scope["path"] + (f"?{query}" if query else ""), safe="/")
    await RedirectResponse(f"/login?next={wanted}", 303)(scope, receive, send)


def _check(connection: HTTPConnection) -> None:
    if is_cross_site(connection):
        raise RequestRefused(403, "This was asked by a page of another site, and is refused.")
    path = connection.scope["path"]
    if path not in ANY_TEXT_PATHS:
        path += connection.scope["query_string"].decode("latin-1")
    if "\0" in path or "%00" in path:
        raise RequestRefused(400, "The address holds a zero byte, which is no text.")
    if int(_digits(connection.headers.get("content-length", "0"))) > MAX_REQUEST_BYTES:
        raise RequestRefused(413, f"The request is larger than {MAX_REQUEST_BYTES:,} bytes, which is the limit.")


def _digits(length: str) -> str:
    return length if length.isascii() and length.isdigit() and len(length) < 20 else str(MAX_REQUEST_BYTES + 1)


def _limited(receive: Receive) -> Receive:
    """End a request that is larger than it said."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return message if seen <= MAX_REQUEST_BYTES else {"type": "http.disconnect"}

    return limited


async def _refuse(error: RequestRefused, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await JSONResponse({"detail": str(error)}, error.status)(scope, receive, send)
        return
    # Refused before it is accepted: the browser sees a 403.
    await receive()
    await send({"type": "websocket.close", "code": SESSION_ENDED_CODE, "reason": str(error)})
