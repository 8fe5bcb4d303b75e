"""The visits of a refresh item, written down before it is collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from tarantula.store.bulk import chunks, execute_rows
from tarantula.tables.publications import Item

ROWS_PER_INSERT = 10_000
"""Visits that are written at a time."""

_INSERT = (
    "INSERT INTO visit (item_id, document_id, due_at, rate, believed)"
    " SELECT own.item_id, own.id, planned.column3, planned.column4, planned.column5 FROM ({rows}) AS planned"
    " JOIN document ON document.id = planned.column2"
    " JOIN document AS own ON own.item_id = planned.column1 AND own.key = document.key"
)
_TYPES = ("integer", "bigint", "timestamptz", "float8", "float8")


class PlannedVisit(NamedTuple):
    """When a document is to be visited, and why."""

    document_id: int
    """Of the item that is kept fresh."""
    after: float
    """Seconds from the beginning."""
    rate: float
    """The rate of changes, in a second, that gives this chance."""
    believed: float
    """The chance that it changed since it was last visited."""


VisitPlanner = Callable[[Session, Item, datetime, float], Iterable[PlannedVisit]]
"""Chooses visits to the pages of an item from a moment on, within so many seconds."""


def write_plan(connection: Connection, item_id: int, planned: Iterable[PlannedVisit], begin: datetime) -> int:
    """Store visits to the documents of an item that have the same URLs; return how many there are."""
    number = 0
    for chunk in chunks(planned, ROWS_PER_INSERT):
        rows = [
            (
                item_id,
                visit.document_id,
                begin + timedelta(seconds=visit.after),
                visit.rate,
                visit.believed,
            )
            for visit in chunk
        ]
        execute_rows(connection, _INSERT, rows, _TYPES)
        number += len(rows)
    return number
