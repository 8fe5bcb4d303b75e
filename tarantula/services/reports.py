"""Report tables of one item or of all items of a publication, also as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.archive.quality.report import ItemReport, make_report
from tarantula.core.csv_text import csv_text
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.freshness.report import freshness_report
from tarantula.models import Item
from tarantula.publications import registry
from tarantula.services.context import ServiceContext
from tarantula.store import listings
from tarantula.store.visits import VisitProgress, VisitTable

DEFAULT_SERVERS = 50
"""Servers in the report of one item."""
SERVERS_OVER_TIME = 10
MAX_CACHED_REPORTS = 2000
"""Reports of ended items in memory: an ended item is counted once."""


class ReportTable(NamedTuple):
    """One of the tables of a report."""

    rows: Callable[[ItemReport], Sequence[Any]]
    key: Callable[[Any], str]
    """Returns the key of a row, the same in every item."""
    columns: tuple[str, ...]


REPORT_TABLES: Mapping[str, ReportTable] = {
    "states": ReportTable(
        lambda report: report.states, lambda row: str(row.state), ("state", "meaning", "documents", "percent")
    ),
    "types": ReportTable(lambda report: report.types, lambda row: row.type, ("type", "documents", "percent", "bytes")),
    "sizes": ReportTable(
        lambda report: report.sizes,
        lambda row: f"{row.from_kb}-{row.to_kb}",
        ("from_kb", "to_kb", "documents", "percent"),
    ),
    "servers": ReportTable(
        lambda report: report.servers, lambda row: row.server, ("server", "documents", "percent", "bytes")
    ),
}
"""Figures 4.3, 4.4, 4.5 and 4.7 of the report of 2001."""

_cached_reports: dict[tuple[str, str, str, datetime | None, datetime | None], ItemReport] = {}


def item_report(
    context: ServiceContext, urn: str, servers: int | None = DEFAULT_SERVERS, belief: bool = True
) -> ItemReport:
    """Return the report of an item, with the freshness estimate if *belief*."""
    with context.reading() as session:
        item = listings.find_item(session, urn)
        report = make_report(session, item, servers)
        return replace(report, belief=freshness_report(session, item)) if belief else report


def item_progress(context: ServiceContext, urn: str, servers: int) -> tuple[ItemReport, VisitProgress | None]:
    """Return the present counts of an item, and the progress of its visits if it is incremental."""
    with context.reading() as session:
        item = listings.find_item(session, urn)
        visits = None
        if item.refreshes_id is not None:
            visits = VisitTable(item.id, item.planned_at).progress(session.connection())
        return make_report(session, item, servers), visits


def publication_reports(context: ServiceContext, publication: str) -> list[ItemReport]:
    """Return the reports of all items of a publication, oldest first."""
    with context.reading() as session:
        owner = registry.get_publication(session, publication)
        items = session.scalars(
            select(Item)
            .where(Item.publication_id == owner.id, Item.state != ItemState.REMOVING)
            .order_by(Item.planned_at, Item.id)
        ).all()
    return [_cached_report(context, item) for item in items]


def report_csv(report: ItemReport, table: str) -> str:
    """Return one table of a report as CSV."""
    chosen = _table(table)
    rows = ([getattr(row, column) for column in chosen.columns] for row in chosen.rows(report))
    return csv_text([chosen.columns, *rows])


def publication_csv(reports_found: Iterable[ItemReport], table: str) -> str:
    """Return one table of several reports as CSV, with the item in each row."""
    chosen = _table(table)
    rows = (
        [report.urn, report.started_at, *(getattr(row, column) for column in chosen.columns)]
        for report in reports_found
        for row in chosen.rows(report)
    )
    return csv_text([("urn", "started_at", *chosen.columns), *rows])


def _table(name: str) -> ReportTable:
    if name not in REPORT_TABLES:
        raise TarantulaError(
            "There is no table {name!r}. Choose {tables}.", name=name[:40], tables=", ".join(REPORT_TABLES)
        )
    return REPORT_TABLES[name]


def _cached_report(context: ServiceContext, item: Item) -> ItemReport:
    """Return the report of an item, from memory if the item has ended."""
    key = (context.installation.url, item.urn, item.validation, item.finished_at, item.verified_at)
    if item.state in ACTIVE_ITEM_STATES or key not in _cached_reports:
        counted = item_report(context, item.urn, SERVERS_OVER_TIME, belief=False)
        if item.state in ACTIVE_ITEM_STATES:
            return counted
        if len(_cached_reports) >= MAX_CACHED_REPORTS:
            _cached_reports.clear()
        _cached_reports[key] = counted
    return _cached_reports[key]
