"""Many rows in one statement, in the way that each database takes fastest.

SQLite gets a list of VALUES. PostgreSQL gets one array a column, since a statement with ten thousand
values takes longer to write and to parse than the rows take to store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection


def execute(connection: Connection, statement: str, rows: Sequence[Sequence[Any]], types: Sequence[str]) -> list[Any]:
    """Run a statement in which ``{rows}`` stands for rows with the columns ``column1``, ``column2`` and so on."""
    if connection.dialect.name == "postgresql":
        source = _unnest(types)
        values: tuple[Any, ...] = tuple(_array(column) for column in zip(*rows, strict=True))
    else:
        row = f"({', '.join('?' * len(types))})"
        source = f"VALUES {', '.join([row] * len(rows))}"
        values = tuple(value for row in rows for value in row)
    result = connection.exec_driver_sql(statement.format(rows=source), values)
    return list(result) if result.returns_rows else []


def _unnest(types: Sequence[str]) -> str:
    arrays = ", ".join(f"%s::{type}[]" for type in types)
    columns = ", ".join(f"column{number}" for number in range(1, len(types) + 1))
    return f"SELECT * FROM unnest({arrays}) AS given ({columns})"


def _array(column: Iterable[Any]) -> str:
    """Write an array as PostgreSQL reads it, section 8.15.6 of its manual."""
    return "{" + ",".join(map(_element, column)) + "}"


def _element(value: object) -> str:
    match value:
        case int():
            return str(int(value))
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case bytes():
            return f'"\\\\x{value.hex()}"'
        case None:
            return "NULL"
    raise TypeError(f"{value!r} cannot travel in an array")
