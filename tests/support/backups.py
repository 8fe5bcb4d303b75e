"""New databases to restore into, and the programs of PostgreSQL on the PATH."""

from __future__ import annotations

import os
from secrets import token_hex

import psycopg2
import pytest

from tarantula.core.config import Config


def put_programs_on_path(config: Config, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put pg_dump and the other programs of the test server first on the PATH, if an installation uses the server."""
    if config.database_url:
        programs = request.getfixturevalue("postgresql_server").bin_path
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


def new_database(config: Config, request: pytest.FixtureRequest) -> str:
    """Return the URL of an empty database of the kind of an installation; empty for SQLite in the home."""
    if not config.database_url:
        return ""
    server = request.getfixturevalue("postgresql_server")
    name = f"restored_{token_hex(4)}"
    connection = psycopg2.connect(server.get_uri())
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    url: str = server.get_uri(database=name)
    return url
