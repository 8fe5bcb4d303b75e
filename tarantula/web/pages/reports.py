"""Report pages (figures 4.3, 4.4, 4.5 and 4.7 of 2001): one item, and all items of a publication over time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from tarantula.archive.quality.report import UNKNOWN_TYPE, ItemReport
from tarantula.freshness.report import Calibration, FreshnessReport
from tarantula.services import publications, reports
from tarantula.services.context import ServiceContext
from tarantula.services.reports import REPORT_TABLES
from tarantula.web.charts.base import COLOURS, TOOLTIP
from tarantula.web.components.background import run_in_thread, show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.components.items import item_navigation
from tarantula.web.i18n import _, format_moment, format_number, format_share, format_size, mark
from tarantula.web.layout import heading, page

TABLE_TITLES: Mapping[str, str] = {
    "states": mark("States of the documents"),
    "types": mark("Types of the collected documents"),
    "sizes": mark("Sizes of the collected documents"),
    "servers": mark("Visited servers"),
}

_COUNTS = (("documents", mark("Documents"), True), ("percent", mark("Share"), True))
_BYTES = ("bytes", mark("Size"), True)
TABLE_HEADINGS: Mapping[str, tuple[tuple[str, str, bool], ...]] = {
    "states": (("name", mark("State"), False), *_COUNTS),
    "types": (("name", mark("Type"), False), *_COUNTS, _BYTES),
    "sizes": (("name", mark("Size (KB)"), False), *_COUNTS),
    "servers": (("name", mark("Server"), False), *_COUNTS, _BYTES),
}
"""Columns of each table: key, heading, and whether it is a number."""


def table_rows(report: ItemReport, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table of a report."""
    chosen = REPORT_TABLES[table]
    return [
        {
            "key": chosen.key(row),
            "name": _name(table, row),
            "documents": row.documents,
            "percent": format_share(row.percent),
            "bytes": format_size(getattr(row, "bytes", 0)),
        }
        for row in chosen.rows(report)
    ]


def documents_by_name(report: ItemReport, table: str) -> dict[str, int]:
    """Return the number of documents for each name in a table."""
    return {_name(table, row): row.documents for row in REPORT_TABLES[table].rows(report)}


def ordered_names(found: Sequence[ItemReport], table: str) -> list[str]:
    """Return the names in a table of all reports: sizes ascending, others in order of appearance."""
    rows = [row for report in found for row in REPORT_TABLES[table].rows(report)]
    if table == "sizes":
        rows.sort(key=lambda row: row.to_kb)
    return list(dict.fromkeys(_name(table, row) for row in rows))


def _name(table: str, row: Any) -> str:
    if table == "states":
        return f"{row.state} · {_(row.meaning)}"
    if table == "sizes":
        return f"{format_number(row.from_kb)} – {format_number(row.to_kb)}"
    name = str(row.type if table == "types" else row.server)
    return _(name) if name == UNKNOWN_TYPE else name


MAX_BARS = 20
MAX_SERIES = len(COLOURS) - 1


def report_bars(names: Sequence[str], values: Sequence[int], *, columns: bool = False) -> dict[str, Any]:
    """Return options of a chart with one value per name: horizontal bars, or columns."""
    names, values = names[:MAX_BARS], values[:MAX_BARS]
    label = {"width": 170, "overflow": "truncate"} if not columns else {"rotate": 30, "hideOverlap": True}
    named: dict[str, Any] = {"type": "category", "data": list(names), "axisLabel": label, "inverse": not columns}
    counted = {"type": "value", "minInterval": 1}
    return {
        "color": COLOURS,
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 16, "bottom": 8, "containLabel": True},
        "tooltip": {**TOOLTIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": named if columns else counted,
        "yAxis": counted if columns else named,
        "series": [{"type": "bar", "data": list(values), "barMaxWidth": 28, "label": _bar_labels(columns)}],
    }


def stacked_bars(
    moments: Sequence[str], counts: Sequence[dict[str, int]], others: str, order: Sequence[str] = ()
) -> dict[str, Any]:
    """Return options of a stacked bar chart over time; small series are summed up as *others*."""
    totals = Counter[str]()
    for one in counts:
        totals.update(one)
    largest_names = {name for name, _number in totals.most_common(MAX_SERIES)}
    largest = [name for name in order or totals if name in largest_names]
    series = {name: [one.get(name, 0) for one in counts] for name in largest}
    if len(totals) > len(largest):
        series[others] = [sum(one.values()) - sum(one.get(name, 0) for name in largest) for one in counts]
    return {
        "color": COLOURS,
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 16, "bottom": 64, "containLabel": True},
        "legend": {"type": "scroll", "bottom": 0},
        "tooltip": {**TOOLTIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": {"type": "category", "data": list(moments), "axisLabel": {"hideOverlap": True}},
        "yAxis": {"type": "value", "minInterval": 1},
        "series": [
            {"type": "bar", "name": name, "stack": "all", "data": values, "barMaxWidth": 48}
            for name, values in series.items()
        ],
    }


def chart_height(options: dict[str, Any]) -> str:
    """Return the CSS height of a chart: one line for each bar."""
    axis = options["yAxis"]
    return f"{60 + 26 * len(axis['data'])}px" if axis["type"] == "category" else "340px"


def _bar_labels(columns: bool) -> dict[str, Any]:
    return {"show": True, "position": "top" if columns else "right", "color": "#0f172a"}


# The browser creates the picture from the chart as displayed.
SAVE_SCRIPT = """
const link = document.createElement('a');
link.href = getElement({id}).chart.getDataURL({{type: 'png', pixelRatio: 2, backgroundColor: '#fff'}});
link.download = {name};
link.click();
"""


def report_figure(
    title: str,
    options: dict[str, Any],
    columns: Sequence[TableColumn],
    rows: Sequence[dict[str, Any]],
    csv: Callable[[], str],
    file: str,
) -> ui.echart | None:
    """Show a chart with its table and downloads; return the chart, or None without data."""
    subheading(title)
    if not rows:
        ui.label(_("No data."))
        return None
    chart = ui.echart(options).classes("w-full").style(f"height: {chart_height(options)}")
    chart.props["role"] = "img"
    chart.props["aria-label"] = _("Chart: {title}. The table below has the same figures.", title=title)
    with ui.row():
        save = SAVE_SCRIPT.format(id=chart.id, name=json.dumps(f"{file}.png"))
        _button("CSV", title, lambda: ui.download.content(csv().encode("utf-8-sig"), f"{file}.csv", "text/csv"))
        _button("PNG", title, lambda: ui.run_javascript(save))
    with ui.expansion(_("As a table")).classes("w-full"):
        data_table(columns, rows, title, key="key")
    return chart


def _button(kind: str, title: str, do: Callable[[], Any]) -> None:
    button = ui.button(kind, icon="download", on_click=do).props("outline dense no-caps")
    button.props["aria-label"] = _("{title} as {kind}", title=title, kind=kind)


def freshness_section(estimate: FreshnessReport) -> None:
    """Show the estimated freshness of an item and the calibration of the estimates."""
    subheading(_("Freshness"))
    freshness, found = estimate.freshness, estimate.calibration
    if freshness is not None:
        share, error = format_share(100 * freshness.share), format_share(100 * freshness.error)
        text = _("{share} ± {error} of the pages are estimated to be up to date.", share=share, error=error)
        ui.label(f"{format_moment(freshness.at)}: {text}")
    with ui.element("dl").classes("grid grid-cols-2 sm:grid-cols-3 md:grid-cols-4 gap-2 w-full"):
        for label, value in _figures(found):
            with ui.element("div").classes("border border-slate-300 rounded p-2"):
                text_element("dt", label, "text-sm text-slate-600")
                text_element("dd", value, "text-xl font-bold m-0")
    if found.classes:
        _classes(found)


def _figures(found: Calibration) -> list[tuple[str, str]]:
    figures = [
        (_("Visits planned"), format_number(found.planned)),
        (_("Visits made"), format_number(found.made)),
        (_("Changes predicted"), f"{format_number(found.foretold)} ± {format_number(found.error)}"),
        (_("Changes observed"), format_number(found.found)),
    ]
    if found.brier is not None and found.brier_of_mean is not None:
        figures.append((_("Brier score"), format_number(found.brier)))
        figures.append((_("Brier score of a constant forecast"), format_number(found.brier_of_mean)))
    return figures


def _classes(found: Calibration) -> None:
    columns = [
        TableColumn("chance", _("Chance of a change")),
        TableColumn("visits", _("Visits"), number=True),
        TableColumn("foretold", _("Predicted"), number=True),
        TableColumn("found", _("Observed"), number=True),
        TableColumn("error", _("Error"), number=True),
    ]
    rows = [
        {
            "chance": f"{format_share(100 * row.at_least)} – {format_share(100 * row.below)}",
            "visits": row.visits,
            "foretold": format_share(100 * row.foretold),
            "found": format_share(100 * row.found),
            "error": format_share(100 * row.error),
        }
        for row in found.classes
    ]
    data_table(columns, rows, _("Chance of a change"), key="chance", search=False)


@page("/reports", mark("Reports"))
async def reports_page(context: ServiceContext) -> None:
    """Show links to the reports of each publication and of its last item."""
    heading(_("Reports"))
    rows = [
        {
            "name": row.name,
            "name_to": f"/publications/{quote(row.name)}/reports",
            "last": row.last_urn,
            "last_to": f"/items/{quote(row.last_urn or '')}/report",
            "items": row.items,
        }
        for row in await run_in_thread(publications.list_publications, context)
        if row.last_urn
    ]
    columns = [
        TableColumn("name", _("All items over time")),
        TableColumn("last", _("The last item")),
        TableColumn("items", _("Items"), number=True),
    ]
    data_table(columns, rows, _("Reports"), key="name")


@page("/items/{urn}/report", mark("Report"))
def item_report_page(context: ServiceContext, urn: str) -> None:
    """Show the report of an item."""
    heading(_("Report of {urn}", urn=urn))
    item_navigation(urn, "/report")
    show_when_loaded(lambda: reports.item_report(context, urn), _show_item)


@page("/publications/{name}/reports", mark("Reports"))
def publication_reports_page(context: ServiceContext, name: str) -> None:
    """Show the reports of all items of a publication over time."""
    heading(_("{name} over time", name=name))
    show_when_loaded(lambda: reports.publication_reports(context, name), lambda found: _show_over_time(name, found))


def _show_item(report: ItemReport) -> None:
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
    totals, files = report.totals, report.files
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
            (_("Verified files"), _("{number} of {total}", number=files.verified, total=files.files)),
            (_("Lost bodies"), format_number(files.lost_bodies) if files.lost_bodies is not None else "–"),
        ):
            with ui.element("div").classes("border border-slate-300 rounded p-2"):
                text_element("dt", label, "text-sm text-slate-600")
                text_element("dd", value, "text-xl font-bold m-0")
    ui.link(_("All items over time"), f"/publications/{quote(report.publication)}/reports").classes("mt-2")


def _item_table(found: list[ItemReport]) -> None:
    """Show the state and validation of each item, newest first."""
    rows = [
        {
            "urn": report.urn,
            "urn_to": f"/items/{quote(report.urn)}/report",
            "started": format_moment(report.started_at),
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
        TableColumn("started", _("Started")),
        TableColumn("state", _("State")),
        TableColumn("validation", _("Validation")),
        TableColumn("collected", _("Collected"), number=True),
        TableColumn("bytes", _("Size"), number=True, shown="size"),
    ]
    data_table(columns, rows, _("Items"), key="urn", search=False)


def _show_over_time(name: str, found: list[ItemReport]) -> None:
    ui.link(_("The publication"), f"/publications/{quote(name)}")
    _item_table(found)
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
            TableColumn("when", _("Started")),
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
