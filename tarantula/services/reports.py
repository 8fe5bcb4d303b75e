"""Reports: one item, all items of a publication in time, and both as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.archive.quality import report as reports
from tarantula.archive.quality.report import Report
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ALIVE
from tarantula.publications import registry
from tarantula.services.context import Desk
from tarantula.store import listings
from tarantula.tables.publications import Item

BUSIEST = 50
"""How many servers a report of one item shows, unless told."""
BUSIEST_IN_TIME = 10
REMEMBERED = 2000
"""How many reports of items that ended are kept in memory: they are counted once."""


class Table(NamedTuple):
    """One of the tables of a report."""

    rows: Callable[[Report], Sequence[Any]]
    key: Callable[[Any], str]
    """What a row is about, the same in every item."""
    columns: tuple[str, ...]


TABLES: Mapping[str, Table] = {
    "states": Table(lambda it: it.states, lambda row: str(row.state), ("state", "meaning", "documents", "percent")),
    "types": Table(lambda it: it.types, lambda row: row.type, ("type", "documents", "percent", "bytes")),
    "sizes": Table(
        lambda it: it.sizes, lambda row: f"{row.from_kb}-{row.to_kb}", ("from_kb", "to_kb", "documents", "percent")
    ),
    "servers": Table(lambda it: it.servers, lambda row: row.server, ("server", "documents", "percent", "bytes")),
}
"""Figures 4.3, 4.4, 4.5 and 4.7 of the report of 2001."""

_ended: dict[tuple[str, str, str, datetime | None], Report] = {}


def of_item(desk: Desk, urn: str, servers: int | None = BUSIEST, belief: bool = True) -> Report:
    """Return an item's tables, and what is believed of it."""
    with desk.reading() as session:
        return reports.report(session, listings.find_item(session, urn), servers, belief)


def over_time(desk: Desk, publication: str) -> list[Report]:
    """Return the tables of every item of a publication, oldest first."""
    with desk.reading() as session:
        owner = registry.get(session, publication)
        items = session.scalars(
            select(Item).where(Item.publication_id == owner.id).order_by(Item.planned_at, Item.id)
        ).all()
    return [_remembered(desk, item) for item in items]


def as_csv(report: Report, table: str) -> str:
    """Return a table of an item as CSV."""
    chosen = _table(table)
    rows = ([getattr(row, column) for column in chosen.columns] for row in chosen.rows(report))
    return _csv(chosen.columns, rows)


def over_time_as_csv(found: Iterable[Report], table: str) -> str:
    """Return a table of every item as CSV, one row for each item and what it counts."""
    chosen = _table(table)
    rows = (
        [report.urn, report.started_at, *(getattr(row, column) for column in chosen.columns)]
        for report in found
        for row in chosen.rows(report)
    )
    return _csv(("urn", "started_at", *chosen.columns), rows)


def _table(name: str) -> Table:
    if name not in TABLES:
        raise TarantulaError(f"There is no table {name[:40]!r}. Choose {', '.join(TABLES)}.")
    return TABLES[name]


def _remembered(desk: Desk, item: Item) -> Report:
    """Return an item's report; one that has ended is counted once."""
    key = (desk.installation.url, item.urn, item.validation, item.finished_at)
    if item.state in ALIVE or key not in _ended:
        counted = of_item(desk, item.urn, BUSIEST_IN_TIME, belief=False)
        if item.state in ALIVE:
            return counted
        if len(_ended) >= REMEMBERED:
            _ended.clear()
        _ended[key] = counted
    return _ended[key]


def _csv(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(heading)
    writer.writerows([_harmless(value) for value in row] for row in rows)
    return written.getvalue()


def _harmless(value: Any) -> Any:
    """Return what a spreadsheet does not take for a formula: types and servers are written by strangers."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
