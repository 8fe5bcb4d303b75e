"""Translate errors of SQLite and PostgreSQL into messages that say what to do."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from tarantula.core.errors import DatabaseUnavailableError

FULL = "There is no space left for the database {name}. Free some space and try again; all stored data is intact."
READ_ONLY = "The database {name} is read-only. Correct its permissions, or choose another with TARANTULA_DATABASE_URL."
LOCKED = "The database {name} is locked by another program. Try again when that program is done."
LOST = "The connection to the database {name} was lost. Try again when its server is running."

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
    "53300": "The database {name} has no free connection. Try again later.",
    "55P03": LOCKED,
    "57P01": LOST,
}
"""By SQLSTATE."""

CONNECTION_MESSAGES = (
    ("could not translate host name", "The server of the database {name} is unknown: {detail}."),
    (
        "password authentication failed|no password supplied",
        "The database {name} refuses this user name and password. Correct them in TARANTULA_DATABASE_URL.",
    ),
    ('role ".*" does not exist', "The database {name} does not know this user. Correct TARANTULA_DATABASE_URL."),
    ('database ".*" does not exist', "There is no database {name}. Create it with createdb, or choose another."),
    (
        "timeout expired|refused|No such file or directory|No route to host|unreachable",
        "The database {name} cannot be reached. Check that its server is running, and its address.",
    ),
    ("closed the connection|connection already closed|terminating connection", LOST),
)
"""By pattern of the driver's message: psycopg2 gives no SQLSTATE for a connection that failed."""


@contextmanager
def translate_errors(url: URL) -> Iterator[None]:
    """Raise known database errors as `DatabaseUnavailableError`; all others, which are bugs of ours, pass unchanged."""
    try:
        yield
    except DBAPIError as error:
        template = _template(error.orig) if error.orig else None
        if template is None:
            raise
        message = template.format(name=display_name(url), detail=_first_line(error.orig))
        raise DatabaseUnavailableError(message) from error


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
    if state is not None:
        return POSTGRESQL_MESSAGES.get(state)
    message = str(error)
    return next((template for pattern, template in CONNECTION_MESSAGES if re.search(pattern, message)), None)


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
