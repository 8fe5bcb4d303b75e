"""Who comes in: a session in a cookie, a token in a header, or the link that is printed while there is no account."""

from __future__ import annotations

import getpass
import secrets
from http.cookies import SimpleCookie
from threading import Lock

from tarantula.accounts import accounts, audit, login_part_login, sessions, tokens
from tarantula.accounts.credentials_part_secrets import secret_digest
from tarantula.accounts.roles import Role
from tarantula.accounts.roles_part_person import Person
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.services.context import ServiceContext

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
        return login_part_login.log_in(self.database, name, password, address)

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
