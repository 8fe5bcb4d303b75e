"""Reports: figures 4.3, 4.4, 4.5 and 4.7 of 2001, for an item and for all items of a publication in time."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from tarantula.archive.quality.report import ItemReport
from tarantula.services import publications, reports
from tarantula.services.context import ServiceContext
from tarantula.web.charts.base_part_charts import report_bars, stacked_bars
from tarantula.web.components.background import show_when_loaded
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.items_part_common import item_navigation
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment, format_number, format_size
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.reports_part_belief_view import freshness_section
from tarantula.web.pages.reports_part_figure_view import report_figure
from tarantula.web.pages.reports_part_report_rows import (
    TABLE_HEADINGS,
    TABLE_TITLES,
    documents_by_name,
    ordered_names,
    table_rows,
)


@page("/reports", mark("Reports"))
def reports_page(desk: ServiceContext) -> None:
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
        for row in publications.list_publications(desk)
        if row.last_urn
    ]
    columns = [
        TableColumn("name", _("All items in time")),
        TableColumn("last", _("The last item")),
        TableColumn("items", _("Items"), number=True),
    ]
    data_table(columns, rows, _("Reports"), key="name")


@page("/items/{urn}/report", mark("Report"))
def item_report_page(desk: ServiceContext, urn: str) -> None:
    """Show the figures of one item."""
    heading(_("Report of {urn}", urn=urn))
    item_navigation(urn, "/report")
    show_when_loaded(lambda: reports.item_report(desk, urn), _of_item)


@page("/publications/{name}/reports", mark("Reports"))
def publication_reports_page(desk: ServiceContext, name: str) -> None:
    """Show the figures of every item of a publication, side by side."""
    heading(_("{name} in time", name=name))
    show_when_loaded(lambda: reports.publication_reports(desk, name), lambda found: _in_time(name, found))


def _of_item(report: ItemReport) -> None:
    _totals(report)
    if report.belief is not None:
        freshness_section(report.belief)
    for table in reports.REPORT_TABLES:
        rows = table_rows(report, table)
        chart = report_figure(
            _(TABLE_TITLES[table]),
            report_bars([row["name"] for row in rows], [row["documents"] for row in rows], columns=table == "sizes"),
            [TableColumn(key, _(label), is_number) for key, label, is_number in TABLE_HEADINGS[table]],
            rows,
            lambda table=table: reports.report_csv(report, table),  # type: ignore[misc]
            f"{report.urn}-{table}",
        )
        if chart is not None and table in ("states", "types", "servers"):
            keys = [row["key"] for row in rows]
            chart.on_point_click(lambda event, table=table, keys=keys: _to_documents(report.urn, table, keys, event))


def _to_documents(urn: str, table: str, keys: list[str], event: events.EChartPointClickEventArguments) -> None:
    """Go to the documents that a bar counts."""
    ui.navigate.to(f"/items/{quote(urn)}/documents?{table[:-1]}={quote(keys[event.data_index], safe='')}")


def _totals(report: ItemReport) -> None:
    totals = report.totals
    with ui.element("dl").classes("grid grid-cols-2 sm:grid-cols-3 md:grid-cols-4 gap-2 w-full"):
        for label, value in (
            (_("State"), _(report.state)),
            (_("Validation"), _(report.validation)),
            (_("Documents"), format_number(totals.documents)),
            (_("Collected"), format_number(totals.collected)),
            (_("Waiting"), format_number(totals.waiting)),
            (_("Servers"), format_number(totals.servers)),
            (_("Links"), format_number(totals.links)),
            (_("Size"), format_size(totals.bytes)),
        ):
            with ui.element("div").classes("border border-slate-300 rounded p-2"):
                text_element("dt", label, "text-sm text-slate-600")
                text_element("dd", value, "text-xl font-bold m-0")
    ui.link(_("All items in time"), f"/publications/{quote(report.publication)}/reports").classes("mt-2")


def _decided(found: list[ItemReport]) -> None:
    """Show what became of every item, the newest first."""
    rows = [
        {
            "urn": report.urn,
            "urn_to": f"/items/{quote(report.urn)}/report",
            "begun": format_moment(report.started_at),
            "state": _(report.state),
            "validation": _(report.validation),
            "collected": report.totals.collected,
            "bytes": report.totals.bytes,
            "size": format_size(report.totals.bytes),
        }
        for report in reversed(found)
    ]
    columns = [
        TableColumn("urn", _("Item")),
        TableColumn("begun", _("Begun")),
        TableColumn("state", _("State")),
        TableColumn("validation", _("Validation")),
        TableColumn("collected", _("Collected"), number=True),
        TableColumn("bytes", _("Size"), number=True, shown="size"),
    ]
    data_table(columns, rows, _("Items"), key="urn", search=False)


def _in_time(name: str, found: list[ItemReport]) -> None:
    ui.link(_("The publication"), f"/publications/{quote(name)}")
    _decided(found)
    moments = [format_moment(report.started_at) for report in found]
    for table in reports.REPORT_TABLES:
        counts = [documents_by_name(report, table) for report in found]
        rows: list[dict[str, Any]] = [
            {"key": f"{report.urn} {key}", "urn": report.urn, "urn_to": f"/items/{quote(report.urn)}/report",
             "when": when, "what": key, "documents": documents}
            for report, when, one in zip(found, moments, counts, strict=True)
            for key, documents in one.items()
        ]  # fmt: skip
        columns = [
            TableColumn("urn", _("Item")),
            TableColumn("when", _("Begun")),
            TableColumn("what", _(TABLE_HEADINGS[table][0][1])),
            TableColumn("documents", _("Documents"), number=True),
        ]
        report_figure(
            _(TABLE_TITLES[table]),
            stacked_bars(moments, counts, _("others"), ordered_names(found, table)),
            columns,
            rows,
            lambda table=table: reports.publication_csv(found, table),  # type: ignore[misc]
            f"{name}-{table}",
        )
