"""A list that is searched a stretch at a time: the page goes on by itself, and says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from tarantula.services.documents_part_documents import DocumentSummary
from tarantula.services.pagination import ResultPage
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.items_part_common import item_path, state_label
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment, format_number, format_share, format_size
from tarantula.web.i18n import _, language, set_language

DOCUMENTS_PER_PAGE = 50

DocumentLoader = Callable[[int, str | None], ResultPage[DocumentSummary]]
"""Asks for so many documents after a place."""


class DocumentList:
    """Documents that are looked for, fifty at a time."""

    def __init__(self, urn: str, ask: DocumentLoader, name: str) -> None:
        self._urn = urn
        self._ask = ask
        self._spoken = language()
        self._places: list[str | None] = [None]
        self._next: str | None = None
        self._asked = 0
        self._progress = ui.linear_progress(0.0, show_value=False).props("instant-feedback").classes("w-full")
        self._progress.props["aria-label"] = _("How much was looked at")
        self._said = ui.label().props('role="status"').classes("text-sm")
        self._table = data_table(_columns(), [], name, key="id", search=False)
        with ui.row().classes("mt-2"):
            self._back = ui.button(_("Back"), icon="chevron_left", on_click=self._previous).props("outline")
            self._more = ui.button(_("Next"), icon="chevron_right", on_click=self._following).props("outline")
        ui.timer(0.01, self.begin, once=True)

    async def begin(self) -> None:
        """Search from the beginning; a search that is under way is given up."""
        self._places = [None]
        await self._search()

    async def _previous(self) -> None:
        self._places.pop()
        await self._search()

    async def _following(self) -> None:
        self._places.append(self._next)
        await self._search()

    async def _search(self) -> None:
        set_language(self._spoken)
        self._asked += 1
        asked, rows, place = self._asked, list[DocumentSummary](), self._places[-1]
        with notify_errors():
            while True:
                found = await run_in_thread(self._ask, DOCUMENTS_PER_PAGE - len(rows), place)
                if asked != self._asked:
                    return
                rows, place = rows + found.rows, found.next
                is_done = place is None or len(rows) >= DOCUMENTS_PER_PAGE
                self._show(rows, found.searched, is_done)
                if is_done:
                    self._next = place
                    self._more.set_visibility(place is not None)
                    return

    def _show(self, rows: Sequence[DocumentSummary], searched: float, is_done: bool) -> None:
        self._table.rows = [_row(self._urn, row) for row in rows]
        self._table.update()
        self._progress.set_visibility(not is_done)
        self._progress.value = searched
        self._back.set_visibility(len(self._places) > 1)
        self._more.set_visibility(False)
        shown = _("{number} documents", number=format_number(len(rows)))
        if is_done:
            self._said.text = shown
        else:
            self._said.text = _("{shown} so far; looked at {share}", shown=shown, share=format_share(searched * 100))


def _columns() -> list[TableColumn]:
    return [
        TableColumn("url", _("URL")),
        TableColumn("state", _("State"), shown="meaning"),
        TableColumn("type", _("Type")),
        TableColumn("size", _("Size"), number=True, shown="bytes"),
        TableColumn("depth", _("Depth"), number=True),
        TableColumn("server", _("Server")),
        TableColumn("collected", _("Collected")),
    ]


def _row(urn: str, row: DocumentSummary) -> dict[str, Any]:
    return {
        "id": row.id,
        "url": row.url,
        "url_to": item_path(urn, f"/documents/{row.id}"),
        "state": row.state,
        "meaning": f"{row.state} {state_label(row.state)}",
        "type": row.type or "–",
        "size": row.size,
        "bytes": "–" if row.size is None else format_size(row.size),
        "depth": row.depth,
        "server": row.server,
        "collected": format_moment(row.collected_at),
    }
