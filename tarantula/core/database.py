"""Connections and sessions of the database, on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker

from tarantula.core.config import Config
from tarantula.core.database_errors import translate_errors
from tarantula.core.errors import TarantulaError

LOCK_TIMEOUT_SECONDS = 30.0
"""How long to wait for a lock, or for a server to accept the connection."""

SQLITE_PRIMARY_CODE_MASK = 0xFF
"""Bits of an SQLite error code without its extension."""


class Database:
    """An open database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._write = sessionmaker(engine, expire_on_commit=False)
        self._reading = engine.execution_options(sqlite_begin="DEFERRED")
        self._read = sessionmaker(self._reading, expire_on_commit=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a session for writing; commit at the end, roll back on an exception."""
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

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def connect(config: Config) -> Database:
    """Connect to the installation's database without looking at its schema; `open_database` migrates it."""
    url = _database_url(config)
    return Database(_sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url))


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


def _postgresql(url: URL) -> Engine:
    return create_engine(
        url,
        # Updates of many rows are sent in batches.
        executemany_mode="values_plus_batch",
        connect_args={"connect_timeout": int(LOCK_TIMEOUT_SECONDS), "application_name": "tarantula"},
    )


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": LOCK_TIMEOUT_SECONDS})
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
