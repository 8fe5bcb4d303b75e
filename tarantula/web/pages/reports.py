"""Reports: figures 4.3, 4.4, 4.5 and 4.7 of 2001, for an item and for all items of a publication in time."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from tarantula.archive.quality.report import Report
from tarantula.services import publications, reports
from tarantula.services.context import Desk
from tarantula.web.charts.base_part_charts import bars, stacked
from tarantula.web.components.background import later
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.components.items_part_common import parts_of
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment, number, size
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.reports_part_belief_view import belief
from tarantula.web.pages.reports_part_figure_view import figure
from tarantula.web.pages.reports_part_report_rows import HEADINGS, TITLES, names_in, names_in_order, rows_of


@page("/reports", mark("Reports"))
def all_reports(desk: Desk) -> None:
    """Show where the reports are: in time for a publication, and of its last item."""
    heading(_("Reports"))
    rows = [
        {
            "name": row.name,
            "name_to": f"/publications/{quote(row.name)}/reports",
            "last": row.last_urn,
            "last_to": f"/items/{quote(row.last_urn or '')}/report",
            "items": row.items,
        }
        for row in publications.listed(desk)
        if row.last_urn
    ]
    columns = [
        Column("name", _("All items in time")),
        Column("last", _("The last item")),
        Column("items", _("Items"), number=True),
    ]
    listing(columns, rows, _("Reports"), key="name")


@page("/items/{urn}/report", mark("Report"))
def report_of_item(desk: Desk, urn: str) -> None:
    """Show the figures of one item."""
    heading(_("Report of {urn}", urn=urn))
    parts_of(urn, "/report")
    later(lambda: reports.of_item(desk, urn), _of_item)


@page("/publications/{name}/reports", mark("Reports"))
def reports_in_time(desk: Desk, name: str) -> None:
    """Show the figures of every item of a publication, side by side."""
    heading(_("{name} in time", name=name))
    later(lambda: reports.over_time(desk, name), lambda found: _in_time(name, found))


def _of_item(report: Report) -> None:
    _totals(report)
    if report.belief is not None:
        belief(report.belief)
    for table in reports.TABLES:
        rows = rows_of(report, table)
        chart = figure(
            _(TITLES[table]),
            bars([row["name"] for row in rows], [row["documents"] for row in rows], columns=table == "sizes"),
            [Column(key, _(label), is_number) for key, label, is_number in HEADINGS[table]],
            rows,
            lambda table=table: reports.as_csv(report, table),  # type: ignore[misc]
            f"{report.urn}-{table}",
        )
        if chart is not None and table in ("states", "types", "servers"):
            keys = [row["key"] for row in rows]
            chart.on_point_click(lambda event, table=table, keys=keys: _to_documents(report.urn, table, keys, event))


def _to_documents(urn: str, table: str, keys: list[str], event: events.EChartPointClickEventArguments) -> None:
    """Go to the documents that a bar counts."""
    ui.navigate.to(f"/items/{quote(urn)}/documents?{table[:-1]}={quote(keys[event.data_index], safe='')}")


def _totals(report: Report) -> None:
    totals = report.totals
    with ui.element("dl").classes("grid grid-cols-2 sm:grid-cols-3 md:grid-cols-4 gap-2 w-full"):
        for label, value in (
            (_("State"), _(report.state)),
            (_("Validation"), _(report.validation)),
            (_("Documents"), number(totals.documents)),
            (_("Collected"), number(totals.collected)),
            (_("Waiting"), number(totals.waiting)),
            (_("Servers"), number(totals.servers)),
            (_("Links"), number(totals.links)),
            (_("Size"), size(totals.bytes)),
        ):
            with ui.element("div").classes("border border-slate-300 rounded p-2"):
                tagged("dt", label, "text-sm text-slate-600")
                tagged("dd", value, "text-xl font-bold m-0")
    ui.link(_("All items in time"), f"/publications/{quote(report.publication)}/reports").classes("mt-2")


def _decided(found: list[Report]) -> None:
    """Show what became of every item, the newest first."""
    rows = [
        {
            "urn": report.urn,
            "urn_to": f"/items/{quote(report.urn)}/report",
            "begun": moment(report.started_at),
            "state": _(report.state),
            "validation": _(report.validation),
            "collected": report.totals.collected,
            "bytes": report.totals.bytes,
            "size": size(report.totals.bytes),
        }
        for report in reversed(found)
    ]
    columns = [
        Column("urn", _("Item")),
        Column("begun", _("Begun")),
        Column("state", _("State")),
        Column("validation", _("Validation")),
        Column("collected", _("Collected"), number=True),
        Column("bytes", _("Size"), number=True, shown="size"),
    ]
    listing(columns, rows, _("Items"), key="urn", search=False)


def _in_time(name: str, found: list[Report]) -> None:
    ui.link(_("The publication"), f"/publications/{quote(name)}")
    _decided(found)
    moments = [moment(report.started_at) for report in found]
    for table in reports.TABLES:
        counts = [names_in(report, table) for report in found]
        rows: list[dict[str, Any]] = [
            {"key": f"{report.urn} {key}", "urn": report.urn, "urn_to": f"/items/{quote(report.urn)}/report",
             "when": when, "what": key, "documents": documents}
            for report, when, one in zip(found, moments, counts, strict=True)
            for key, documents in one.items()
        ]  # fmt: skip
        columns = [
            Column("urn", _("Item")),
            Column("when", _("Begun")),
            Column("what", _(HEADINGS[table][0][1])),
            Column("documents", _("Documents"), number=True),
        ]
        figure(
            _(TITLES[table]),
            stacked(moments, counts, _("others"), names_in_order(found, table)),
            columns,
            rows,
            lambda table=table: reports.over_time_as_csv(found, table),  # type: ignore[misc]
            f"{name}-{table}",
        )
