"""Connections and sessions of the database, on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker

from tarantula.core.config import Config
from tarantula.core.database_errors import OutageLog, outage_log, translate_errors
from tarantula.core.deadlines import check_time, current_budget, lift_time_budget
from tarantula.core.errors import TarantulaError
from tarantula.core.sealed_columns import require_key, set_keyring
from tarantula.core.secrets import Keyring, is_sealed, secrets_in
from tarantula.core.termination import termination_held

LOCK_TIMEOUT_SECONDS = 30.0
"""How long SQLite waits for a lock."""
CONNECT_TIMEOUT_SECONDS = 10
"""How long to wait for a server to accept the connection."""
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


def _limit_transaction(connection: Connection) -> None:
    """Let the database end queries when the time budget of the request is over."""
    budget = current_budget()
    if connection.dialect.name == "postgresql":
        if budget is not None:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(int(budget.left * 1000), 1)}")
        return
    driver: Any = connection.connection.driver_connection
    # A connection keeps its handler: without a budget, that of the last transaction must go.
    is_over = None if budget is None else lambda: budget.left == 0
    driver.set_progress_handler(is_over, SQLITE_STEPS_PER_CHECK)
