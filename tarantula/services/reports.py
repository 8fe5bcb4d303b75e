"""Reports: one item, all items of a publication in time, and both as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.archive.quality import report as reports
from tarantula.archive.quality.report import ItemReport
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES
from tarantula.models import Item
from tarantula.publications import registry
from tarantula.services.context import ServiceContext
from tarantula.store import listings

DEFAULT_SERVERS = 50
"""How many servers a report of one item shows, unless told."""
SERVERS_OVER_TIME = 10
MAX_CACHED_REPORTS = 2000
"""How many reports of items that ended are kept in memory: they are counted once."""


class ReportTable(NamedTuple):
    """One of the tables of a report."""

    rows: Callable[[ItemReport], Sequence[Any]]
    key: Callable[[Any], str]
    """What a row is about, the same in every item."""
    columns: tuple[str, ...]


REPORT_TABLES: Mapping[str, ReportTable] = {
    "states": ReportTable(
        lambda it: it.states, lambda row: str(row.state), ("state", "meaning", "documents", "percent")
    ),
    "types": ReportTable(lambda it: it.types, lambda row: row.type, ("type", "documents", "percent", "bytes")),
    "sizes": ReportTable(
        lambda it: it.sizes, lambda row: f"{row.from_kb}-{row.to_kb}", ("from_kb", "to_kb", "documents", "percent")
    ),
    "servers": ReportTable(lambda it: it.servers, lambda row: row.server, ("server", "documents", "percent", "bytes")),
}
"""Figures 4.3, 4.4, 4.5 and 4.7 of the report of 2001."""

_ended: dict[tuple[str, str, str, datetime | None], ItemReport] = {}


def item_report(
    context: ServiceContext, urn: str, servers: int | None = DEFAULT_SERVERS, belief: bool = True
) -> ItemReport:
    """Return an item's tables, and what is believed of it."""
    with context.reading() as session:
        return reports.make_report(session, listings.find_item(session, urn), servers, belief)


def publication_reports(context: ServiceContext, publication: str) -> list[ItemReport]:
    """Return the tables of every item of a publication, oldest first."""
    with context.reading() as session:
        owner = registry.get_publication(session, publication)
        items = session.scalars(
            select(Item).where(Item.publication_id == owner.id).order_by(Item.planned_at, Item.id)
        ).all()
    return [_remembered(context, item) for item in items]


def report_csv(report: ItemReport, table: str) -> str:
    """Return a table of an item as CSV."""
    chosen = _table(table)
    rows = ([getattr(row, column) for column in chosen.columns] for row in chosen.rows(report))
    return _csv(chosen.columns, rows)


def publication_csv(found: Iterable[ItemReport], table: str) -> str:
    """Return a table of every item as CSV, one row for each item and what it counts."""
    chosen = _table(table)
    rows = (
        [report.urn, report.started_at, *(getattr(row, column) for column in chosen.columns)]
        for report in found
        for row in chosen.rows(report)
    )
    return _csv(("urn", "started_at", *chosen.columns), rows)


def _table(name: str) -> ReportTable:
    if name not in REPORT_TABLES:
        raise TarantulaError(f"There is no table {name[:40]!r}. Choose {', '.join(REPORT_TABLES)}.")
    return REPORT_TABLES[name]


def _remembered(context: ServiceContext, item: Item) -> ItemReport:
    """Return an item's report; one that has ended is counted once."""
    key = (context.installation.url, item.urn, item.validation, item.finished_at)
    if item.state in ACTIVE_ITEM_STATES or key not in _ended:
        counted = item_report(context, item.urn, SERVERS_OVER_TIME, belief=False)
        if item.state in ACTIVE_ITEM_STATES:
            return counted
        if len(_ended) >= MAX_CACHED_REPORTS:
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
