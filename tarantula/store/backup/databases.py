"""Snapshots of the database for backups, and their restore: a copy of an SQLite file, or an archive of pg_dump."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from sqlalchemy import URL, create_engine, inspect, make_url, text
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database, connect, display_name, translate_errors
from tarantula.core.errors import TarantulaError
from tarantula.core.files import sync_path
from tarantula.store.backup.copying import (
    COPY_BYTES,
    CountBytes,
    copy_checked,
    digest_and_size,
    space_error,
    store_stream,
    writing,
)
from tarantula.store.backup.target import DatabaseFile

SQLITE_NAME = "database.sqlite"
POSTGRESQL_NAME = "database.dump"
MAX_REASON_LENGTH = 500
"""Characters of what pg_dump or pg_restore says that are shown."""


class Snapshot(NamedTuple):
    """A consistent copy of the database, and a session that sees exactly its rows."""

    file: DatabaseFile
    session: Session


@contextmanager
def snapshot(database: Database, folder: Path) -> Iterator[Snapshot]:
    """Write a copy of the database into a folder, while other processes continue to write to it."""
    take = _sqlite_snapshot if database.engine.dialect.name == "sqlite" else _postgresql_snapshot
    with take(database, folder) as taken:
        yield taken


@contextmanager
def _sqlite_snapshot(database: Database, folder: Path) -> Iterator[Snapshot]:
    path = folder / SQLITE_NAME
    with writing(folder), database.read_connection() as connection, closing(sqlite3.connect(path)) as copy:
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        try:
            # In one step: a single read transaction, which no writer has to wait for.
            source.backup(copy)
            # One file, without a write-ahead log next to it.
            copy.execute("PRAGMA journal_mode = DELETE")
            (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname == "SQLITE_FULL":
                raise space_error(folder) from error
            # SQLite also reports an I/O error if the disk has no space for a file next to the database.
            is_failing = error.sqlite_errorname.startswith("SQLITE_IOERR")
            reason = "the disk is full or has failed" if is_failing else error
            raise TarantulaError(
                "The database cannot be copied to {path}: {reason}.", path=path, reason=reason
            ) from error
    if found != "ok":
        raise TarantulaError(
            "The database {database} is damaged ({found}). Restore an earlier backup.",
            database=display_name(database.engine.url),
            found=found,
        )
    size, digest = digest_and_size(path)
    file = DatabaseFile(kind="sqlite", name=path.name, size=size, sha256=digest)
    engine = create_engine(f"sqlite+pysqlite:///file:{_escaped(path)}?immutable=1&uri=true")
    try:
        with Session(engine) as session:
            yield Snapshot(file, session)
    finally:
        engine.dispose()


def _escaped(path: Path) -> str:
    return path.as_uri().removeprefix("file://")


@contextmanager
def _postgresql_snapshot(database: Database, folder: Path) -> Iterator[Snapshot]:
    path = folder / POSTGRESQL_NAME
    engine = database.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    with translate_errors(engine.url), Session(engine) as session:
        # The other program sees the same rows as this transaction, which must stay open meanwhile.
        name = session.scalar(text("SELECT pg_export_snapshot()"))
        with writing(folder), closing(_dumped(engine.url, str(name))) as pieces:
            size, digest = store_stream(pieces, path)
        yield Snapshot(DatabaseFile(kind="postgresql", name=path.name, size=size, sha256=digest), session)


def _dumped(url: URL, snapshot_name: str) -> Generator[bytes]:
    """Yield the archive that pg_dump writes."""
    command = [_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot_name}"]
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            [*command, f"--dbname={_address(url)}"],
            env=_environment(url),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout is not None
        try:
            while piece := process.stdout.read(COPY_BYTES):
                yield piece
        except BaseException:
            process.kill()
            raise
        finally:
            process.stdout.close()
            code = process.wait()
        if code:
            errors.seek(0)
            raise TarantulaError("pg_dump failed: {error}", error=_reason(errors.read()))


def check_empty(installation: Config) -> None:
    """Raise an error if the database of an installation exists and has tables."""
    url = database_url(installation)
    if url.get_backend_name() == "sqlite":
        if Path(url.database or "").exists():
            raise TarantulaError(
                "The database {database} exists. A backup is restored into a new one.", database=display_name(url)
            )
        return
    with connect(installation) as database, database.read_connection() as connection:
        if inspect(connection).get_table_names():
            raise TarantulaError(
                "The database {database} is not empty. Create a new one with createdb, and name it.",
                database=display_name(url),
            )


def restore_database(file: DatabaseFile, source: Path, installation: Config, count: CountBytes) -> None:
    """Create the database of an installation from the file of a backup."""
    url = database_url(installation)
    if file.kind == "sqlite":
        target = Path(url.database or "")
        draft = target.with_name(f"{target.name}.part")
        with writing(target.parent):
            copy_checked(source, file.size, file.sha256, draft, count)
            sync_path(draft)
            os.replace(draft, target)
            sync_path(target.parent)
        return
    # All or nothing: a restore that failed can be repeated.
    command = [_program("pg_restore"), "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    done = subprocess.run(
        [*command, f"--dbname={_address(url)}", str(source)],
        env=_environment(url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise TarantulaError("pg_restore failed: {error}", error=_reason(done.stderr))
    count(file.size)


def database_url(installation: Config) -> URL:
    """Return the URL of an installation's database, of a supported kind, without creating the home."""
    if not installation.database_url:
        return make_url(installation.url)
    with connect(installation) as database:
        return database.engine.url


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise TarantulaError(
            "The program {name} is not on the PATH. Install the client programs of PostgreSQL, "
            "of the version of the server or newer.",
            name=name,
        )
    return found


def _address(url: URL) -> str:
    # Without the password, which other users could see in the list of processes.
    return url.set(drivername="postgresql", password=None).render_as_string()


def _environment(url: URL) -> dict[str, str]:
    return os.environ | ({"PGPASSWORD": url.password} if url.password else {})


def _reason(output: bytes) -> str:
    return " ".join(output.decode(errors="replace").split())[-MAX_REASON_LENGTH:] or "it gave no reason."
