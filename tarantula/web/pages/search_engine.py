"""The search engine page: frequent queries, barrels, index backlog."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.core.errors import TarantulaError
from tarantula.services import search
from tarantula.services.context import ServiceContext
from tarantula.services.search import COUNTED_DAYS, HOME_INDEX, BarrelRow, SearchPanel, SkippedRow
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.components.items import item_path
from tarantula.web.i18n import _, format_number, language, mark, set_language, translate_reason
from tarantula.web.layout import heading, page

POLL_SECONDS = 1.0
"""Interval between two polls while the page is open."""
BARREL_STATE_LABELS = {"ready": mark("ready"), "behind": mark("catching up"), "gone": mark("unavailable")}


@page("/searches", mark("Search engine"), Role.ADMINISTRATOR)
def search_engine_page(context: ServiceContext) -> None:
    """Show the most frequent queries, the barrels and the index backlog."""
    heading(_("Search engine"))
    view = _View()
    reader_language = language()

    async def poll() -> None:
        set_language(reader_language)
        try:
            found = await run_in_thread(search.search_panel, context)
        except TarantulaError as error:
            view.show_error(str(error))
        else:
            view.show(found)

    ui.timer(POLL_SECONDS, poll)


class _View:
    """The parts of the page that change; only changes are sent to the browser."""

    def __init__(self) -> None:
        self._error = text_element("p", "", "text-red-900").props('role="status"')
        with ui.row().classes("gap-4 w-full"):
            self._backlog = _figure(_("Journal entries waiting to be indexed"))
            self._journal = _figure(_("Journal entries"))
        subheading(_("Most frequent queries of the last {days} days", days=COUNTED_DAYS))
        columns = [TableColumn("query", _("Query")), _count_column("number", _("Count"))]
        self._searches = data_table(
            columns,
            [],
            _("Most frequent queries of the last {days} days", days=COUNTED_DAYS),
            key="query",
            search=False,
        )
        subheading(_("Barrels"))
        columns = [
            TableColumn("address", _("Barrel")),
            TableColumn("state", _("State")),
            _count_column("documents", _("Documents")),
            _count_column("backlog", _("Backlog")),
            _count_column("answered", _("Queries answered")),
            _count_column("mean", _("Mean time")),
        ]
        self._barrels = data_table(columns, [], _("Barrels"), key="id", search=False)
        subheading(_("Documents whose parsers were stopped"))
        self._skipped_count = text_element("p", "", "m-0")
        columns = [TableColumn("url", _("URL")), TableColumn("urn", _("Item")), TableColumn("why", _("Reason"))]
        self._skipped = data_table(columns, [], _("Documents whose parsers were stopped"), key="document", search=False)

    def show(self, found: SearchPanel) -> None:
        """Show the present state."""
        self._set_text(self._error, _(found.trouble))
        self._set_text(self._backlog, "–" if found.backlog is None else format_number(found.backlog))
        self._set_text(self._journal, format_number(found.journal))
        self._set_rows(self._searches, [_search(one.query, one.number) for one in found.searches])
        self._set_rows(self._barrels, [_barrel(place, one) for place, one in enumerate(found.barrels)])
        number = format_number(found.skipped_count)
        self._set_text(self._skipped_count, _("{number} documents are not in the index.", number=number))
        self._set_rows(self._skipped, [_skipped(one) for one in found.skipped])

    def show_error(self, sentence: str) -> None:
        """Show why the state is not available."""
        self._set_text(self._error, _(sentence))

    def _set_text(self, label: Any, text: str) -> None:
        if label.text != text:
            label.text = text

    def _set_rows(self, table: ui.table, rows: list[dict[str, Any]]) -> None:
        if table.rows != rows:
            table.rows = rows


def _figure(label: str) -> Any:
    with ui.card().classes("items-center flex-1 min-w-[8rem] p-3 gap-0").props("flat bordered"):
        value = text_element("span", "–", "text-3xl font-bold")
        text_element("span", label)
    return value


def _count_column(name: str, label: str) -> TableColumn:
    return TableColumn(name, label, number=True, shown=f"{name}_shown")


def _search(query: str, times: int) -> dict[str, Any]:
    return {"query": query, "query_to": f"/search?q={quote_plus(query)}", **_count_cells("number", times)}


def _barrel(place: int, row: BarrelRow) -> dict[str, Any]:
    mean = row.mean_milliseconds
    return {
        "id": place,
        "address": _("Local index") if row.address == HOME_INDEX else row.address,
        "state": _(BARREL_STATE_LABELS[row.state]),
        **_count_cells("documents", row.documents),
        **_count_cells("backlog", row.backlog),
        **_count_cells("answered", row.answered),
        "mean": mean,
        "mean_shown": "–" if mean is None else f"{format_number(mean)} ms",
    }


def _skipped(row: SkippedRow) -> dict[str, Any]:
    return {
        "document": row.document,
        "url": row.url,
        "url_to": item_path(row.urn, f"/documents/{row.document}"),
        "urn": row.urn,
        "why": translate_reason(row.reason_code, row.reason_parameters),
    }


def _count_cells(name: str, value: int) -> dict[str, Any]:
    return {name: value, f"{name}_shown": format_number(value)}
