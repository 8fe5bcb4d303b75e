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

from ada_url import URL, HostType
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula.accounts import accounts, audit, factors, login, sessions, tokens
from tarantula.accounts.credentials import secret_digest
from tarantula.accounts.oidc import OidcProvider, OidcSettings
from tarantula.accounts.roles import Person, Role
from tarantula.accounts.security_keys import Site
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.web.i18n import LANGUAGE_COOKIE, negotiate_language, set_language
from tarantula.web.limits import SESSIONS, error_response, retry_headers, run_in_pool

HOST_PREFIX = "__Host-"
"""RFC 6265bis, 4.1.3.2: browsers accept such a cookie only from its own host by https, with Secure and Path=/."""
SESSION_COOKIE = "tarantula_session"
DEVICE_COOKIE = "tarantula_device"
"""Cookie of a browser in which an account has logged in: failed logins elsewhere do not delay it."""

LOGIN_CONNECTIONS, HEALTH_CONNECTIONS = 4, 2


class Authenticator:
    """Authenticates sessions, tokens and the one-time link."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.installation = installation
        self._required_roles = factors.required_roles(installation.require_second_factor)
        self.content = database.limited(installation.web_connections)
        """Connections for what people work on."""
        self.database = database.limited(LOGIN_CONNECTIONS)
        """Connections for logins and sessions, which nothing else can use up."""
        self.health = database.limited(HEALTH_CONNECTIONS)
        """Connections for the health check."""
        settings = OidcSettings.of(installation)
        self.provider = OidcProvider(installation, settings) if settings is not None else None
        """Where people may log in besides here."""
        self._code: str | None = None
        self._lock = Lock()

    def create_code(self) -> str:
        """Return a one-time login code, valid while there is no account."""
        self._code = secrets.token_urlsafe(24)
        return self._code

    def redeem_code(self, code: str) -> str | None:
        """Start an administrator session for the one-time code; return its secret, or None if the code is not valid."""
        with self._lock:
            if self._code is None or not secrets.compare_digest(code.encode(errors="replace"), self._code.encode()):
                return None
            self._code = None
        with self.database.session() as session:
            if accounts.exist(session):
                return None
            name = getpass.getuser()
            secret = sessions.begin_session(session, None, name)
            audit.record(session, Person(name, Role.ADMINISTRATOR), "login", name, link=True)
            return secret

    def log_in(self, name: str, password: str, address: str, device: str | None = None) -> str | None:
        """Start a session for a name and password; return its secret, or None."""
        return login.log_in(self.database, name, password, address, device)

    def remember_device(self, secret: str, device: str | None) -> str | None:
        """Remember the browser of a session that has just begun; return the secret of its cookie."""
        return login.remember_device(self.database, secret, device)

    def log_out(self, secret: str) -> None:
        """End a session."""
        with self.database.session() as session:
            sessions.end_session(session, secret_digest(secret))

    def person_of_session(self, secret: str | None, *, present: bool = True) -> Person | None:
        """Return the account of a session cookie. With *present*, extend the session: a user sent the request."""
        if not secret:
            return None
        digest = secret_digest(secret)
        with self.database.reading() as session:
            person = factors.restrict(session, sessions.person_of(session, digest), self._required_roles)
            stale = present and person is not None and sessions.is_stale(session, digest)
        if stale:
            with self.database.session() as session:
                sessions.touch(session, digest)
        return person

    def person_of_token(self, secret: str) -> Person | None:
        """Return the account of a token."""
        with self.database.reading() as session:
            person = tokens.person_of(session, secret)
            stale = person is not None and tokens.is_stale(session, secret)
        if stale:
            with self.database.session() as session:
                tokens.note_use(session, secret)
        return person

    def context(self, person: Person) -> ServiceContext:
        """Return the service context of an account."""
        return ServiceContext(self.installation, self.content, person)


def is_secure(connection: HTTPConnection) -> bool:
    """Whether a request came by https, to this server or to a trusted proxy."""
    return connection.scope["scheme"] in ("https", "wss")


def cookie_name(connection: HTTPConnection, name: str = SESSION_COOKIE) -> str:
    """Return the name of a cookie as the browser has it: another one by https, where no other site can set it."""
    return f"{HOST_PREFIX}{name}" if is_secure(connection) else name


def session_cookie(
    connection: HTTPConnection,
    secret: str,
    name: str = SESSION_COOKIE,
    seconds: int | None = None,
    same_site: str = "Strict",
) -> str:
    """Return the value of a Set-Cookie header for a session, or for what else a browser keeps; 0 seconds remove it."""
    cookie: SimpleCookie = SimpleCookie()
    full_name = cookie_name(connection, name)
    cookie[full_name] = secret
    morsel = cookie[full_name]
    if seconds is not None:
        morsel["max-age"] = seconds
    morsel["path"], morsel["httponly"], morsel["samesite"] = "/", True, same_site
    if is_secure(connection):
        morsel["secure"] = True
    return morsel.OutputString()


def own_cookie(connection: HTTPConnection, name: str = SESSION_COOKIE) -> str | None:
    """Return the value of a cookie that `session_cookie` has set."""
    return connection.cookies.get(cookie_name(connection, name))


def key_site(request: Request, public_address: str) -> Site:
    """Return the site for which security keys are registered; raise an error where browsers refuse them.

    It is the public address, or the one that the browser opened.
    """
    opened = URL(f"{request.url.scheme}://{request.url.netloc}")
    site = URL(public_address) if public_address else opened
    if site.origin != opened.origin:
        raise TarantulaError("Security keys work only at {address}. Open the pages there.", address=site.origin)
    is_local = site.hostname == "localhost" or site.hostname.endswith(".localhost")
    if site.host_type != HostType.DEFAULT:
        raise TarantulaError(
            "Security keys need a host name. Open the pages with one, as https://archive.example.org or, on the same "
            "machine, http://localhost:8090."
        )
    if site.protocol != "https:" and not is_local:
        raise TarantulaError("Security keys need HTTPS. Open the pages with it.")
    return Site(site.hostname, site.origin)


OWN_SITES = ("same-origin", "none")
"""Values of Sec-Fetch-Site for our own pages and typed addresses."""
SAFE_METHODS = ("GET", "HEAD")
DEFAULT_PORTS = {"http": 80, "https": 443}


def is_cross_site(connection: HTTPConnection) -> bool:
    """Whether a request comes from another site; only followed links may.

    Cookies do not distinguish ports, so requests from another port would carry our cookie.
    """
    site = connection.headers.get("sec-fetch-site")
    if site is not None and site not in OWN_SITES and not _follows_link(connection):
        return True
    origin = connection.headers.get("origin")
    return origin is not None and not _is_own_origin(connection, origin)


def _follows_link(connection: HTTPConnection) -> bool:
    return (
        connection.scope.get("method") in SAFE_METHODS
        and connection.headers.get("sec-fetch-mode") == "navigate"
        and connection.headers.get("sec-fetch-dest") == "document"
    )


def _is_own_origin(connection: HTTPConnection, origin: str) -> bool:
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{connection.headers.get('host', '')}")
        scheme = "https" if is_secure(connection) else "http"
        port = theirs.port or DEFAULT_PORTS.get(theirs.scheme)
        return (theirs.scheme, theirs.hostname, port) == (scheme, ours.hostname, ours.port or DEFAULT_PORTS[scheme])
    except ValueError:
        return False


TOKEN_PATHS = ("/api/", "/metrics")
"""Paths at which tokens are accepted."""
PUBLIC_PATHS = ("/_nicegui/", "/static/", "/favicon.ico", "/health")
"""Paths without authentication; their content is the same for all."""
ANONYMOUS_PATHS = ("/begin", "/login", "/logout", "/language/", *TOKEN_PATHS)
"""Paths that are available without a login; the API itself returns 401."""
FACTORS_PAGE = "/account/factors"
"""Page of a person who must set up a second factor, with those below it."""
ANY_TEXT_PATHS = ("/search", "/search/complete", "/search/suggest")
"""Pages that accept any text in the query string, NUL characters too."""
SESSION_CHECK_SECONDS = 2.0
"""Interval between two checks whether the session of an open page has ended."""
EVENT_STREAM = "text/event-stream"
SESSION_ENDED_CODE = 4401
"""WebSocket close code for pages whose session has ended."""
MAX_REQUEST_BYTES = 16 * 1024 * 1024
"""Maximum size of a request body of a page, such as a file that is uploaded."""
MAX_API_BYTES = 1024 * 1024
"""Maximum size of a request body of the API, whose parser holds the whole process."""


class AuthMiddleware:
    """Sets ``state.person`` and ``state.language`` of each request, and refuses requests that are not allowed."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        try:
            _check_request(connection)
            person = await self._person(connection)
        except RequestRefused as error:
            await _refuse(error, scope, receive, send)
            return
        except TarantulaError as error:
            await _refuse(RequestRefused(503, str(error), retry_headers(error)), scope, receive, send)
            return
        self._set_state(connection, person)
        if person is None and not _is_anonymous(connection):
            await _redirect_to_login(connection, receive, send)
        elif person is not None and person.needs_factor and not _is_for_enrolment(connection):
            await _redirect_to_factors(connection, receive, send)
        elif scope["type"] == "http":
            if person is not None and person.session is not None:
                send = self._end_when_ended(connection, person, send)
            await self._app(scope, _limit_body(receive, _max_bytes(connection)), send)
        else:
            assert person is not None, "WebSocket connections need a login"
            await self._app(scope, self._disconnect_when_ended(connection, person, receive), send)

    async def _person(self, connection: HTTPConnection) -> Person | None:
        path = connection.scope["path"]
        if _is_public(connection):
            return None
        kind, _, token = connection.headers.get("authorization", "").partition(" ")
        if kind and path.startswith(TOKEN_PATHS):
            if kind.lower() != "bearer":
                return None
            person = await run_in_pool(SESSIONS, self._authenticator.person_of_token, token.strip())
            _check_scopes(person, path)
            return person
        secret = own_cookie(connection)
        # Event streams are no sign that a user is present.
        is_stream = connection.scope["type"] != "http" or connection.headers.get("accept") == EVENT_STREAM
        if not secret:
            return None
        return await run_in_pool(SESSIONS, self._authenticator.person_of_session, secret, present=not is_stream)

    def _set_state(self, connection: HTTPConnection, person: Person | None) -> None:
        state = connection.scope.setdefault("state", {})
        state["authenticator"], state["person"] = self._authenticator, person
        chosen = connection.cookies.get(LANGUAGE_COOKIE)
        state["language"] = negotiate_language(chosen, connection.headers.get("accept-language", ""))
        set_language(state["language"])

    def _disconnect_when_ended(self, connection: HTTPConnection, person: Person, receive: Receive) -> Receive:
        """Disconnect an open page soon after its session has ended."""
        secret = own_cookie(connection)
        checked_at = monotonic()

        async def receiving() -> Message:
            nonlocal checked_at
            message = await receive()
            if message["type"] != "websocket.receive" or monotonic() < checked_at + SESSION_CHECK_SECONDS:
                return message
            checked_at = monotonic()
            # Only events of the user keep the session alive, not the messages that the page sends by itself.
            by_user = (message.get("text") or "").startswith('42["event"')
            is_valid = await self._is_session_valid(secret, person, present=by_user)
            return message if is_valid else {"type": "websocket.disconnect", "code": SESSION_ENDED_CODE}

        return receiving

    def _end_when_ended(self, connection: HTTPConnection, person: Person, send: Send) -> Send:
        """End a streamed response soon after its session has ended."""
        secret = own_cookie(connection)
        checked_at, is_ended = monotonic(), False

        async def sending(message: Message) -> None:
            nonlocal checked_at, is_ended
            if message.get("more_body") and monotonic() >= checked_at + SESSION_CHECK_SECONDS:
                checked_at = monotonic()
                if not is_ended and not await self._is_session_valid(secret, person):
                    is_ended = True
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            if not is_ended:
                await send(message)

        return sending

    async def _is_session_valid(self, secret: str | None, person: Person, *, present: bool = False) -> bool:
        try:
            return await run_in_pool(SESSIONS, self._authenticator.person_of_session, secret, present=present) == person
        except TarantulaError:
            # A database failure does not end sessions.
            return True


class RequestRefused(Exception):
    """A refused request, with its HTTP status."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers or {}


def _is_public(connection: HTTPConnection) -> bool:
    return connection.scope.get("method") in SAFE_METHODS and connection.scope["path"].startswith(PUBLIC_PATHS)


def _is_anonymous(connection: HTTPConnection) -> bool:
    is_request = connection.scope["type"] == "http"
    return is_request and (_is_public(connection) or connection.scope["path"].startswith(ANONYMOUS_PATHS))


def _is_for_enrolment(connection: HTTPConnection) -> bool:
    path: str = connection.scope["path"]
    is_page = path == FACTORS_PAGE or path.startswith((f"{FACTORS_PAGE}/", "/login", "/logout", "/language/"))
    return connection.scope["type"] == "http" and is_page


async def _redirect_to_factors(connection: HTTPConnection, receive: Receive, send: Send) -> None:
    scope = connection.scope
    if scope.get("method") in SAFE_METHODS and not scope["path"].startswith((*TOKEN_PATHS, "/_nicegui_ws")):
        await RedirectResponse(FACTORS_PAGE, 303)(scope, receive, send)
        return
    sentence = f"Your role needs a second factor. Set one up on the page {FACTORS_PAGE} first."
    await _refuse(RequestRefused(403, sentence), scope, receive, send)


async def _redirect_to_login(connection: HTTPConnection, receive: Receive, send: Send) -> None:
    scope = connection.scope
    if scope.get("method") not in SAFE_METHODS or scope["path"].startswith("/_nicegui_ws"):
        await _refuse(RequestRefused(403, "Log in first."), scope, receive, send)
        return
    query = scope["query_string"].decode("latin-1")
    target = quote(scope["path"] + (f"?{query}" if query else ""), safe="/")
    await RedirectResponse(f"/login?next={target}", 303)(scope, receive, send)


def _check_request(connection: HTTPConnection) -> None:
    if is_cross_site(connection):
        raise RequestRefused(403, "The request comes from a page of another site and is refused.")
    path = connection.scope["path"]
    if path not in ANY_TEXT_PATHS:
        path += connection.scope["query_string"].decode("latin-1")
    if "\0" in path or "%00" in path:
        raise RequestRefused(400, "The address contains a NUL character.")
    limit = _max_bytes(connection)
    if int(_valid_length(connection.headers.get("content-length", "0"))) > limit:
        sentence = f"The request is larger than {limit:,} bytes, which is the limit."
        is_import = connection.scope["path"].startswith("/api/publications.toml")
        raise RequestRefused(413, f"{sentence} Import large files with tarantula." if is_import else sentence)


def _max_bytes(connection: HTTPConnection) -> int:
    return MAX_API_BYTES if connection.scope["path"].startswith("/api/") else MAX_REQUEST_BYTES


def _check_scopes(person: Person | None, path: str) -> None:
    """Refuse a token outside its scopes."""
    needed = tokens.needed_scopes(path)
    if person is None or person.scopes is None or needed is None or not person.scopes.isdisjoint(needed):
        return
    sentence = f"This token is for {', '.join(sorted(person.scopes))} only."
    raise RequestRefused(403, f"{sentence} Create one with the scope {needed[0]}." if needed else sentence)


def _valid_length(length: str) -> str:
    return length if length.isascii() and length.isdigit() and len(length) < 20 else str(MAX_REQUEST_BYTES + 1)


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Disconnect a request whose body is larger than allowed."""
    received = 0

    async def receiving() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        return message if received <= limit else {"type": "http.disconnect"}

    return receiving


async def _refuse(error: RequestRefused, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await error_response(scope, str(error), error.status, error.headers)(scope, receive, send)
        return
    # Closed before it is accepted: the browser sees a 403.
    await receive()
    await send({"type": "websocket.close", "code": SESSION_ENDED_CODE, "reason": str(error)})
