"""Translate errors of SQLite and PostgreSQL into messages that say what to do."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from sqlalchemy import URL, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tarantula.core.deadlines import TimeBudgetError, current_budget
from tarantula.core.errors import DatabaseUnavailableError, DatabaseUnreachableError

logger = logging.getLogger(__name__)

FULL = "There is no space left for the database {name}. Free some space and try again; all stored data is intact."
READ_ONLY = "The database {name} is read-only. Correct its permissions, or choose another with TARANTULA_DATABASE_URL."
LOCKED = "The database {name} is locked by another program. Try again when that program is done."
LOST = "The connection to the database {name} was lost. Try again when its server is running."
BUSY = "The database {name} has no free connection. Try again later."
ALL_IN_USE = "All connections to the database {name} are in use. Try again in a moment."
NOT_RUNNING = "The database {name} is starting up or shutting down. Try again when its server is running."

SQLITE_MESSAGES = {
    "SQLITE_FULL": FULL,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_NOTADB": "The file {name} is not an SQLite database. Choose another with TARANTULA_DATABASE_URL.",
    "SQLITE_CORRUPT": "The database {name} is damaged. Restore it from a backup.",
    "SQLITE_CANTOPEN": "The database {name} cannot be opened or created. Check that its directory is writable.",
    "SQLITE_IOERR": "The database {name} cannot be read or written: the disk is full or has failed.",
}
"""By primary error code: the first two words of an extended code such as SQLITE_READONLY_DIRECTORY."""

POSTGRESQL_MESSAGES = {
    "25006": READ_ONLY,
    "42501": "The user of the database {name} may not do this: {detail}.",
    "53100": FULL,
    "55P03": LOCKED,
}
"""By SQLSTATE."""

OUTAGE_MESSAGES = {
    "08": LOST,
    "25P03": LOST,
    "53200": "The server of the database {name} has no memory left. Try again later.",
    "53300": BUSY,
    "57P01": LOST,
    "57P02": LOST,
    "57P03": NOT_RUNNING,
    "57P05": LOST,
}
"""By SQLSTATE or its class: the server is away, or ended the connection."""

LOGIN_MESSAGES = (
    (
        "password authentication failed|no password supplied",
        "The database {name} refuses this user name and password. Correct them in TARANTULA_DATABASE_URL.",
    ),
    ('role ".*" does not exist', "The database {name} does not know this user. Correct TARANTULA_DATABASE_URL."),
    ('database ".*" does not exist', "There is no database {name}. Create it with createdb, or choose another."),
)
"""By pattern of the driver's message: psycopg2 gives no SQLSTATE for a connection that failed."""

CONNECTION_MESSAGES = (
    ("could not translate host name", "The server of the database {name} is unknown: {detail}."),
    ("starting up|shutting down|recovery mode|not yet accepting", NOT_RUNNING),
    ("too many clients|too many connections|connection slots", BUSY),
    (
        "timeout expired|refused|No such file or directory|No route to host|unreachable",
        "The database {name} cannot be reached. Check that its server is running, and its address.",
    ),
    ("", LOST),
)
"""The same for connections that a server did not accept or that ended; the last one is for all others."""

CONNECTION_ERRORS = ("OperationalError", "InterfaceError", "DatabaseError")
"""Classes of psycopg2's errors without SQLSTATE, which libpq reports of a connection; those below them are of ours."""


@contextmanager
def translate_errors(url: URL) -> Iterator[None]:
    """Raise known database errors as `DatabaseUnavailableError`; all others, which are bugs of ours, pass unchanged."""
    try:
        yield
    except PoolTimeoutError as error:
        raise DatabaseUnavailableError(ALL_IN_USE, name=display_name(url)) from error
    except DBAPIError as error:
        budget = current_budget()
        if budget is not None and _is_interrupted(error.orig):
            raise TimeBudgetError(budget.seconds) from error
        translated = translated_error(error.orig, url) if error.orig else None
        if translated is None:
            raise
        raise translated from error


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether a query was ended because it took too long: query_canceled of PostgreSQL."""
    name = getattr(error, "pgcode", None) or getattr(error, "sqlite_errorname", None)
    return name in ("57014", "SQLITE_INTERRUPT")


def translated_error(error: BaseException, url: URL) -> DatabaseUnavailableError | None:
    """Return the error with a message for people, or ``None`` for a bug of ours."""
    cls: type[DatabaseUnavailableError] = DatabaseUnavailableError
    template = _template(error)
    if template is None:
        cls, template = DatabaseUnreachableError, _outage_template(error)
    return cls(template, name=display_name(url), detail=_first_line(error)) if template else None


def display_name(url: URL) -> str:
    """Return a database's name for messages: the file, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or "in memory"
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def _template(error: BaseException) -> str | None:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorname", "")
        return SQLITE_MESSAGES.get("_".join(code.split("_")[:2]))
    state = getattr(error, "pgcode", None)
    return POSTGRESQL_MESSAGES.get(state) if state is not None else _first_match(LOGIN_MESSAGES, str(error))


def _outage_template(error: BaseException) -> str | None:
    if isinstance(error, sqlite3.Error):
        return None
    state = getattr(error, "pgcode", None)
    if state is not None:
        return OUTAGE_MESSAGES.get(state) or OUTAGE_MESSAGES.get(state[:2])
    return _first_match(CONNECTION_MESSAGES, str(error)) if type(error).__name__ in CONNECTION_ERRORS else None


def _first_match(messages: tuple[tuple[str, str], ...], message: str) -> str | None:
    return next((template for pattern, template in messages if re.search(pattern, message)), None)


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


class OutageLog:
    """Logs one line when a database goes away and one when it is back, for all threads and engines of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_away = False

    def watch(self, engine: Engine) -> None:
        """Log the outages that connections of an engine meet."""
        event.listen(engine, "handle_error", self._on_error)
        event.listen(engine, "connect", self._on_connect)

    def _on_error(self, context: ExceptionContext) -> None:
        if context.is_pre_ping or context.engine is None:
            # A connection of the pool was lost while it was not used; another one is opened now.
            return
        outage = translated_error(context.original_exception, context.engine.url)
        if isinstance(outage, DatabaseUnreachableError) and self._is_new(is_away=True):
            logger.warning("The database is unavailable (%s); waiting for it.", _first_line(context.original_exception))

    def _on_connect(self, _connection: object, _record: object) -> None:
        if self._is_new(is_away=False):
            logger.warning("The database is available again; continuing.")

    def _is_new(self, *, is_away: bool) -> bool:
        with self._lock:
            was_away, self._is_away = self._is_away, is_away
            return was_away != is_away


@cache
def outage_log(_url: URL) -> OutageLog:
    """Return the log of a database's outages in this process."""
    return OutageLog()
