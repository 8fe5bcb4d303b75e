"""Authentication: sessions, tokens, the one-time link, and the middleware that identifies each request and refuses
cross-site ones.
"""

from __future__ import annotations

import getpass
import secrets
from http.cookies import SimpleCookie
from threading import Lock
from time import monotonic
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula.accounts import accounts, audit, login, sessions, tokens
from tarantula.accounts.credentials import secret_digest
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.web.i18n import LANGUAGE_COOKIE, negotiate_language, set_language
from tarantula.web.middleware import add_security_headers

SESSION_COOKIE = "tarantula_session"


class Authenticator:
    """Knows who may come in."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.installation = installation
        self.database = database
        self._code: str | None = None
        self._turn = Lock()

    def open_once(self) -> str:
        """Return a code with which somebody comes in once, while there is no account."""
        self._code = secrets.token_urlsafe(24)
        return self._code

    def take_code(self, code: str) -> str | None:
        """Begin a session for whoever has the code; it is used up."""
        with self._turn:
            if self._code is None or not secrets.compare_digest(code.encode(errors="replace"), self._code.encode()):
                return None
            self._code = None
        with self.database.session() as session:
            if accounts.exist(session):
                return None
            name = getpass.getuser()
            audit.record(session, Person(name, Role.ADMINISTRATOR), "login", name, link=True)
            return sessions.begin_session(session, None, name)

    def log_in(self, name: str, password: str, address: str) -> str | None:
        """Begin a session for whoever knows the password of an account."""
        return login.log_in(self.database, name, password, address)

    def log_out(self, secret: str) -> None:
        """End a session."""
        with self.database.session() as session:
            sessions.end_session(session, secret_digest(secret))

    def person(self, secret: str | None, *, present: bool = True) -> Person | None:
        """Return whose session a cookie names; note that somebody is *present*, if it was no program that asked."""
        if not secret:
            return None
        digest = secret_digest(secret)
        with self.database.reading() as session:
            person = sessions.person_of(session, digest)
            stale = present and person is not None and sessions.is_stale(session, digest)
        if stale:
            with self.database.session() as session:
                sessions.touch(session, digest)
        return person

    def program(self, secret: str) -> Person | None:
        """Return who shows a token."""
        with self.database.reading() as session:
            person = tokens.person_of(session, secret)
            stale = person is not None and tokens.is_stale(session, secret)
        if stale:
            with self.database.session() as session:
                tokens.note_use(session, secret)
        return person

    def desk(self, person: Person) -> ServiceContext:
        """Return where somebody works."""
        return ServiceContext(self.installation, self.database, person)


def session_cookie(secret: str, *, secure: bool) -> str:
    """Return the value of a Set-Cookie header for a session."""
    cookie: SimpleCookie = SimpleCookie()
    cookie[SESSION_COOKIE] = secret
    morsel = cookie[SESSION_COOKIE]
    morsel["path"], morsel["httponly"], morsel["samesite"] = "/", True, "Strict"
    if secure:
        morsel["secure"] = True
    return morsel.OutputString()


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
