"""The database: engine, sessions, and a schema that is always up to date."""

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
from tarantula.migrations import migrate

LOCK_TIMEOUT_SECONDS = 30.0
"""Seconds to wait for a lock, or for a server to answer."""

SQLITE_PRIMARY_CODE_MASK = 0xFF
"""The part of an SQLite error code that is not its extension."""


class Database:
    """An open database, whose schema is that of this program."""

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
        """Give a session that is committed at the end, or undone if anything goes wrong."""
        with translate_errors(self.engine.url), self._write.begin() as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Give a session that keeps nobody from writing, however long it lasts."""
        with translate_errors(self.engine.url), self._read() as session:
            yield session

    @contextmanager
    def looking(self) -> Iterator[Connection]:
        """Give a connection for a quick look; it keeps nobody from writing either."""
        with translate_errors(self.engine.url), self._reading.connect() as connection:
            yield connection

    def watching(self) -> Connection:
        """Return a connection without transactions, to be closed: each look shows what is committed by then."""
        with translate_errors(self.engine.url):
            return self.engine.execution_options(isolation_level="AUTOCOMMIT", sqlite_begin="").connect()

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()


def open_database(config: Config | None = None) -> Database:
    """Open the installation's database; a new one is made, an older one brought up to date."""
    config = config or Config()
    url = _database_url(config)
    engine = _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)
    try:
        with translate_errors(url):
            migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine)


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
        "TARANTULA_DATABASE_URL does not name a database that can be used here. "
        "Write it as postgresql://user:password@host/name or sqlite:////path/to/file."
    )


def _postgresql(url: URL) -> Engine:
    return create_engine(
        url,
        # Updates of many rows travel together.
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
    """Switch a new file over; SQLite does not wait for others who are doing the same, so we do."""
    give_up = monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & SQLITE_PRIMARY_CODE_MASK != sqlite3.SQLITE_BUSY or monotonic() > give_up:
                raise
            sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and then wants to write fails at once, without waiting, when another
    # has written in between (SQLITE_BUSY_SNAPSHOT): so those that may write take their turn at the start.
    mode = connection.get_execution_options().get("sqlite_begin", "IMMEDIATE")
    if mode:
        connection.exec_driver_sql(f"BEGIN {mode}")
