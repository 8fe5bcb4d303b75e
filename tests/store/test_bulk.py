"""Bulk statements: errors of the driver are raised as SQLAlchemy errors."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from tarantula.core.database import Database
from tarantula.store.bulk import copy_binary, raw_cursor
from tarantula.store.errors import is_database_away

END_OTHERS = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def test_a_lost_connection_is_invalidated(postgresql_database: Database, caplog: pytest.LogCaptureFixture) -> None:
    engine = postgresql_database.engine

    def write_to_nobody() -> None:
        with engine.begin() as connection:
            connection.execute(text("SELECT 1"))
            with engine.connect() as other:
                other.execute(END_OTHERS)
            with raw_cursor(connection) as cursor:
                copy_binary(cursor, "link", [])

    with caplog.at_level(logging.WARNING):
        with pytest.raises(DBAPIError) as raised:
            write_to_nobody()
        assert is_database_away(raised.value)
        with engine.begin() as connection:
            assert connection.execute(text("SELECT 1")).scalar_one() == 1
    assert "Traceback" not in caplog.text


def test_a_statement_error_keeps_the_connection(postgresql_database: Database) -> None:
    engine = postgresql_database.engine
    with pytest.raises(ProgrammingError) as raised, engine.begin() as connection, raw_cursor(connection) as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    assert not is_database_away(raised.value)
    with engine.begin() as connection, raw_cursor(connection) as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]
