"""Who comes in: a session in a cookie, a token in a header, or the link that is printed while there is no account."""

from __future__ import annotations

import getpass
import secrets
from http.cookies import SimpleCookie

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from tarantula.config import Config
from tarantula.db import Database
from tarantula.management.desk import Desk
from tarantula.people import accounts, sessions
from tarantula.people.person import Person
from tarantula.web.words import COOKIE as LANGUAGE_COOKIE
from tarantula.web.words import use, wanted_language

SESSION_COOKIE = "tarantula_session"


class Gate:
    """Knows who may come in."""

    def __init__(self, installation: Config, database: Database) -> None:
        self.installation = installation
        self.database = database
        self._code: str | None = None

    def open_once(self) -> str:
        """Return a code with which somebody comes in once, while there is no account."""
        self._code = secrets.token_urlsafe(24)
        return self._code

    def take_code(self, code: str) -> str | None:
        """Begin a session for whoever has the code; it is used up."""
        if self._code is None or not secrets.compare_digest(code.encode(), self._code.encode()):
            return None
        with self.database.session() as session:
            if accounts.exist(session):
                return None
            self._code = None
            return sessions.begin(session, None, getpass.getuser())

    def person(self, secret: str | None) -> Person | None:
        """Return whose session a cookie names."""
        if not secret:
            return None
        with self.database.reading() as session:
            person = sessions.person_of(session, secret)
            stale = person is not None and sessions.is_stale(session, secret)
        if stale:
            with self.database.session() as session:
                sessions.touch(session, secret)
        return person

    def desk(self, person: Person) -> Desk:
        """Return where somebody works."""
        return Desk(self.installation, self.database, person)


class Doorkeeper:
    """Tells every request who asks, in ``state.person``, and in which language."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass."""
        if scope["type"] in ("http", "websocket"):
            connection = HTTPConnection(scope)
            cookies = connection.cookies
            state = scope.setdefault("state", {})
            state["gate"] = self._gate
            state["person"] = self._gate.person(cookies.get(SESSION_COOKIE))
            state["language"] = wanted_language(
                cookies.get(LANGUAGE_COOKIE), connection.headers.get("accept-language", "")
            )
            use(state["language"])
        await self._app(scope, receive, send)


def session_cookie(secret: str, *, secure: bool) -> str:
    """Return the value of a Set-Cookie header for a session."""
    cookie: SimpleCookie = SimpleCookie()
    cookie[SESSION_COOKIE] = secret
    morsel = cookie[SESSION_COOKIE]
    morsel["path"], morsel["httponly"], morsel["samesite"] = "/", True, "Strict"
    if secure:
        morsel["secure"] = True
    return morsel.OutputString()
