"""Connections to SQLite and PostgreSQL, and their errors as sentences."""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from time import monotonic, sleep
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session, sessionmaker

from tarantula.core.column_types import require_key, set_keyring
from tarantula.core.config import Config
from tarantula.core.deadlines import TimeBudgetError, check_time, current_budget, lift_time_budget
from tarantula.core.errors import DatabaseUnavailableError, DatabaseUnreachableError, TarantulaError
from tarantula.core.secrets import Keyring, is_sealed, secrets_in
from tarantula.core.termination import termination_held

LOCK_TIMEOUT_SECONDS = 30.0
"""How long SQLite waits for a lock."""
CONNECT_TIMEOUT_SECONDS = 10
"""How long to wait for a server to accept the connection."""
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


KEEPALIVE_IDLE_SECONDS, KEEPALIVE_INTERVAL_SECONDS, KEEPALIVE_COUNT = 5, 2, 3
"""Both ends of a connection probe the other after so many idle seconds, and give it up after so many lost probes."""
TCP_TIMEOUT_SECONDS = 10
"""Both ends give up a connection on which data is not acknowledged for so long."""
POOL_TIMEOUT_SECONDS = 5.0
"""How long a request waits for a free connection of a limited pool."""
SQLITE_STEPS_PER_CHECK = 50_000
"""Instructions of SQLite's virtual machine between two looks at the clock: about a millisecond."""
IDLE_TRANSACTION_SECONDS = 10
"""PostgreSQL ends a transaction that holds leases, and does nothing for so long: its process is dead or cut off."""

SQLITE_PRIMARY_CODE_MASK = 0xFF
"""Bits of an SQLite error code without its extension."""


class Database:
    """An open database."""

    def __init__(self, engine: Engine, keyring: Keyring, *, budgeted: bool = False) -> None:
        self.engine = engine
        if budgeted:
            event.listen(engine, "begin", _limit_transaction)
            event.listen(engine, "before_cursor_execute", lambda *_: check_time())
        self.keyring = keyring
        set_keyring(engine.dialect, keyring)
        self._write = sessionmaker(engine, expire_on_commit=False)
        event.listen(self._write, "before_flush", self._require_key)
        self._reading = engine.execution_options(sqlite_begin="DEFERRED")
        self._read = sessionmaker(self._reading, expire_on_commit=False)
        self._leasing: Engine | None = None
        self._outages: OutageLog | None = None
        self._limited: list[Database] = []

    def limited(self, connections: int) -> Database:
        """Return the same database with its own connections, at most so many, for requests with a time budget.

        Other requests cannot use these up. Closing this database closes them.
        """
        kept = min(connections, POOL_SIZE)
        pool = {"pool_size": kept, "max_overflow": connections - kept, "pool_timeout": POOL_TIMEOUT_SECONDS}
        limited = Database(_engine(self.engine.url, **pool), self.keyring, budgeted=True)
        if self._outages is not None:
            limited.log_outages()
        self._limited.append(limited)
        return limited

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _require_key(self, session: Session, _context: object, _instances: object) -> None:
        """Check the key before secrets are stored."""
        for row in (*session.new, *session.dirty):
            configuration = row.__dict__.get("configuration")
            if configuration and session.is_modified(row) and not all(map(is_sealed, secrets_in(configuration))):
                require_key(self.keyring, session.connection())
                return

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a session for writing; commit at the end, roll back on an exception. It has no time budget."""
        lift_time_budget()
        with translate_errors(self.engine.url), self._write.begin() as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session for reading, which never blocks writers."""
        with translate_errors(self.engine.url), self._read() as session:
            yield session

    @contextmanager
    def read_connection(self) -> Iterator[Connection]:
        """Open a connection for a short query, which does not block writers either."""
        with translate_errors(self.engine.url), self._reading.connect() as connection:
            yield connection

    def autocommit_connection(self) -> Connection:
        """Return a connection without transactions: each query sees what is committed by then. The caller closes it."""
        with translate_errors(self.engine.url):
            return self.engine.execution_options(isolation_level="AUTOCOMMIT", sqlite_begin="").connect()

    @property
    def leasing_engine(self) -> Engine:
        """Engine for the thread that holds leases: its transactions end soon if its process dies or is cut off.

        Other transactions may be idle while files are written.
        """
        if self.engine.dialect.name != "postgresql":
            return self.engine
        if self._leasing is None:
            self._leasing = _postgresql(self.engine.url, IDLE_TRANSACTION_SECONDS)
            set_keyring(self._leasing.dialect, self.keyring)
            if self._outages is not None:
                self._outages.watch(self._leasing)
        return self._leasing

    def log_outages(self) -> None:
        """Log when the database goes away, and when it is back: for processes that wait for it."""
        if self._outages is None:
            self._outages = outage_log(self.engine.url)
            for engine in filter(None, (self.engine, self._leasing)):
                self._outages.watch(engine)

    def close(self) -> None:
        """Close all connections."""
        with termination_held():
            self.engine.dispose()
            if self._leasing is not None:
                self._leasing.dispose()
            for limited in self._limited:
                limited.close()


def connect(config: Config) -> Database:
    """Connect to the installation's database without looking at its schema; `open_database` migrates it."""
    url = _database_url(config)
    return Database(_engine(url), Keyring(config))


POOL_SIZE = 5
"""Connections of a pool that stay open."""


def _engine(url: URL, **pool: Any) -> Engine:
    return _sqlite(url, **pool) if url.get_backend_name() == "sqlite" else _postgresql(url, **pool)


def _database_url(config: Config) -> URL:
    if not config.database_url:
        config.make_home()
    try:
        url = make_url(config.url)
    except (ArgumentError, ValueError):
        url = URL.create("unreadable")
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg2")
    if url.get_backend_name() == "sqlite" and url.database:
        return url.set(drivername="sqlite+pysqlite")
    raise TarantulaError(
        "TARANTULA_DATABASE_URL is not the URL of a supported database. "
        "Write it as postgresql://user:password@host/name or sqlite:////path/to/file."
    )


def _postgresql(url: URL, idle_transaction_seconds: int = 0, **pool: Any) -> Engine:
    engine = create_engine(
        url,
        **pool,
        # Updates of many rows are sent in batches.
        executemany_mode="values_plus_batch",
        # After a restart of the server no request meets a dead connection. The thread that holds leases writes every
        # second and tries again by itself.
        pool_pre_ping=not idle_transaction_seconds,
        connect_args={
            "application_name": "tarantula",
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "keepalives_idle": KEEPALIVE_IDLE_SECONDS,
            "keepalives_interval": KEEPALIVE_INTERVAL_SECONDS,
            "keepalives_count": KEEPALIVE_COUNT,
            "tcp_user_timeout": TCP_TIMEOUT_SECONDS * 1000,
        },
    )
    # The same for the other end, which otherwise keeps the locks of a machine that is gone for hours.
    settings = {
        "tcp_keepalives_idle": KEEPALIVE_IDLE_SECONDS,
        "tcp_keepalives_interval": KEEPALIVE_INTERVAL_SECONDS,
        "tcp_keepalives_count": KEEPALIVE_COUNT,
        "tcp_user_timeout": TCP_TIMEOUT_SECONDS * 1000,
    }
    if idle_transaction_seconds:
        settings["idle_in_transaction_session_timeout"] = idle_transaction_seconds * 1000
    statement = "; ".join(f"SET {name} = {value}" for name, value in settings.items())
    event.listen(engine, "connect", lambda connection, _record: _prepare_postgresql(connection, statement))
    return engine


def _prepare_postgresql(connection: Any, statement: str) -> None:
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.autocommit = False


def _sqlite(url: URL, **pool: Any) -> Engine:
    engine = create_engine(url, **pool, connect_args={"timeout": LOCK_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch a file to WAL mode; retry while another process does the same, because SQLite's timeout does not apply."""
    deadline = monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & SQLITE_PRIMARY_CODE_MASK != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
            sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later fails at once (SQLITE_BUSY_SNAPSHOT) if another one has written in
    # between. Transactions that may write therefore take the write lock when they begin.
    mode = connection.get_execution_options().get("sqlite_begin", "IMMEDIATE")
    if mode:
        connection.exec_driver_sql(f"BEGIN {mode}")


def _check_thread() -> None:
    """Refuse work in the thread of an event loop: while it waits for the database, nothing else is answered."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise AssertionError("A query was made in an event loop. Make it in a thread, as with run_in_thread.")


def _limit_transaction(connection: Connection) -> None:
    """Let the database end queries when the time budget of the request is over."""
    _check_thread()
    budget = current_budget()
    if connection.dialect.name == "postgresql":
        if budget is not None:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(int(budget.left * 1000), 1)}")
        return
    driver: Any = connection.connection.driver_connection
    # A connection keeps its handler: without a budget, that of the last transaction must go.
    is_over = None if budget is None else lambda: budget.left == 0
    driver.set_progress_handler(is_over, SQLITE_STEPS_PER_CHECK)


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
