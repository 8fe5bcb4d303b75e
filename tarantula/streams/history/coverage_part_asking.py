"""Questions in plain SQL: a drawing asks a dozen, and making each of expressions would take longer than its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy.orm import Session

from tarantula.streams.sources.retention import Grain


def query_rows(session: Session, statement: str, *values: int) -> Sequence[Any]:
    """Return the rows that a statement finds, in which ``?`` stands for each of the values."""
    connection = session.connection()
    result = connection.exec_driver_sql(_with_placeholders(statement, connection.dialect.name), values)
    # As the driver has them: thousands of rows are not worth being made into objects first.
    rows: Sequence[Any] = result.cursor.fetchall() if result.cursor is not None else []
    result.close()
    return rows


def query_scalar(session: Session, statement: str, *values: int) -> Any:
    """Return the first column of the first row, or nothing."""
    found = query_rows(session, statement, *values)
    return found[0][0] if found else None


def grain_table(grain: Grain) -> tuple[str, str]:
    """Return where the rows of a grain are, with a place for the series, and the column that says when."""
    if grain is Grain.EVENT:
        return "event WHERE series_id = ?", "at"
    return f"level WHERE series_id = ? AND grain = {int(grain)}", "start"


@cache
def _with_placeholders(statement: str, dialect: str) -> str:
    return statement if dialect == "sqlite" else statement.replace("?", "%s")
