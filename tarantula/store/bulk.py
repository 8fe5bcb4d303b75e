"""Many rows in one statement, in the fastest form for each database.

SQLite gets a list of VALUES. PostgreSQL gets a COPY, or one array per column: writing and parsing a statement with ten
thousand values takes longer than storing the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from itertools import islice
from typing import Any, TypeVar

import psycopg2
from sqlalchemy import Connection, CursorResult
from sqlalchemy.exc import DBAPIError

T = TypeVar("T")

MAX_SQLITE_VALUES = 32_766
"""Maximum number of bound values in one SQLite statement."""
BINARY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
BINARY_END = b"\xff\xff"
COPY_CHUNK_BYTES = 1 << 16
NULL = b"\xff\xff\xff\xff"


def execute_rows(connection: Connection, statement: str, rows: Sequence[Sequence[Any]], types: Sequence[str]) -> int:
    """Execute a statement in which ``{rows}`` stands for *rows*, with columns named ``column1``, ``column2`` and so on.

    *types* are the PostgreSQL types of the columns. Return the number of changed rows.
    """
    return sum(max(result.rowcount, 0) for result in _results(connection, statement, rows, types))


def query_rows(
    connection: Connection, statement: str, rows: Sequence[Sequence[Any]], types: Sequence[str]
) -> Iterator[Any]:
    """Execute a SELECT as in `execute_rows` and yield its rows, ordered only within each 32,766 bound values."""
    for result in _results(connection, statement, rows, types):
        yield from result


def execute_returning(connection: Connection, statement: str, rows: Sequence[Sequence[Any]]) -> Iterator[Any]:
    """Execute a statement as in `execute_rows`, on SQLite only, and yield the rows of its RETURNING clause."""
    for result in _run_sqlite(connection, statement, rows):
        if result.returns_rows:
            yield from result


def _results(
    connection: Connection, statement: str, rows: Sequence[Sequence[Any]], types: Sequence[str]
) -> Iterator[CursorResult[Any]]:
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        arrays = tuple(_array(column) for column in zip(*rows, strict=True))
        yield connection.exec_driver_sql(statement.format(rows=_unnest(types)), arrays)
    else:
        yield from _run_sqlite(connection, statement, rows)


def _run_sqlite(connection: Connection, statement: str, rows: Sequence[Sequence[Any]]) -> Iterator[CursorResult[Any]]:
    places = f"({', '.join('?' * len(rows[0]))})"
    for chunk in chunks(rows, MAX_SQLITE_VALUES // len(rows[0])):
        flat = tuple(_sqlite_value(value) for row in chunk for value in row)
        yield connection.exec_driver_sql(statement.format(rows=f"VALUES {', '.join([places] * len(chunk))}"), flat)


@contextmanager
def raw_cursor(connection: Connection) -> Iterator[Any]:
    """Yield a psycopg2 cursor; its errors are raised as SQLAlchemy errors, and invalidate a lost connection."""
    driver: Any = connection.connection
    with driver.cursor() as cursor:
        try:
            yield cursor
        except psycopg2.Error as error:
            driver_error: Any = error
            is_gone = connection.dialect.is_disconnect(driver_error, driver.dbapi_connection, cursor)
            if is_gone:
                connection.invalidate(error)
            raise DBAPIError.instance(None, None, error, psycopg2.Error, connection_invalidated=is_gone) from error


def copy_binary(cursor: Any, table: str, rows: Iterable[bytes]) -> None:
    """Insert packed rows with PostgreSQL's binary COPY."""
    packed = BytesIO(b"".join((BINARY_HEADER, *rows, BINARY_END)))
    cursor.copy_expert(f"COPY {table} FROM STDIN (FORMAT binary)", packed, COPY_CHUNK_BYTES)


def packed_text(text: str | None) -> bytes:
    """Encode a text column for `copy_binary`."""
    if text is None:
        return NULL
    encoded = text.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def chunks(rows: Iterable[T], size: int = 1000) -> Iterator[list[T]]:
    """Yield lists of at most *size* rows."""
    iterator = iter(rows)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _unnest(types: Sequence[str]) -> str:
    arrays = ", ".join(f"%s::{type}[]" for type in types)
    columns = ", ".join(f"column{number}" for number in range(1, len(types) + 1))
    return f"SELECT * FROM unnest({arrays}) AS given ({columns})"


def _array(column: Iterable[Any]) -> str:
    """Return a PostgreSQL array literal (manual, section 8.15.6)."""
    return "{" + ",".join(map(_element, column)) + "}"


def _element(value: object) -> str:
    match value:
        case int():
            return str(int(value))
        case float():
            return repr(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case bytes():
            return f'"\\\\x{value.hex()}"'
        case datetime():
            return f'"{value.isoformat()}"'
        case None:
            return "NULL"
    raise TypeError(f"{value!r} cannot be written to a PostgreSQL array")


def _sqlite_value(value: Any) -> Any:
    """Format a datetime as `tarantula.core.column_types.UtcDateTime` stores it in SQLite."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    return value
