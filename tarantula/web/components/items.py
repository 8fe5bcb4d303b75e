"""Parts of item pages: navigation, document states, the paged document list, the review list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.archive.quality.validation import ReviewEntry, ReviewReason
from tarantula.core.states import STATE_MEANINGS, state_meaning
from tarantula.services.context import ResultPage
from tarantula.services.documents import DocumentSummary
from tarantula.store.withholding import WithheldMark
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, text_element
from tarantula.web.i18n import (
    _,
    format_moment,
    format_number,
    format_share,
    format_size,
    language,
    mark,
    set_language,
    translate_reason,
)

ITEM_PAGES = (
    ("", mark("Overview")),
    ("/documents", mark("Documents")),
    ("/servers", mark("Servers")),
    ("/files", mark("Files")),
    ("/report", mark("Report")),
    ("/browse", mark("Browse")),
    ("/validate", mark("Validate")),
)
"""Pages of an item: path and label."""

COMMON_STATUS_CODES = (200, 204, 206, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 429, 500, 502, 503, 504)
"""HTTP status codes that are common in crawls."""


def item_path(urn: str, part: str = "") -> str:
    """Return the path of a page of an item."""
    return f"/items/{quote(urn, safe='')}{part}"


def item_navigation(urn: str, current: str) -> None:
    """Show links to the other pages of an item."""
    with ui.element("nav").classes("flex flex-wrap gap-4 mb-4") as nav:
        nav.props["aria-label"] = _("Pages of the item")
        for part, name in ITEM_PAGES:
            link = ui.link(_(name), item_path(urn, part))
            if part == current:
                link.props('aria-current="page"').classes("font-bold")


def state_label(state: int) -> str:
    """Return the meaning of a document state in the reader's language."""
    return _(state_meaning(state))


def state_choices(known: Iterable[int] = ()) -> dict[int, str]:
    """Return the document states to filter by, with their meanings."""
    states = sorted({*STATE_MEANINGS, *COMMON_STATUS_CODES, *known}, key=lambda state: (state <= 0, abs(state)))
    return {state: f"{state} {state_label(state)}" for state in states}


def fact_list(rows: Iterable[tuple[str, str]]) -> None:
    """Show names and values. Values may come from other sites."""
    with ui.element("dl").classes("w-full grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-1"):
        for name, value in rows:
            text_element("dt", name, "font-medium")
            text_element("dd", value, "min-w-0 break-all whitespace-pre-wrap")


REVIEW_LABELS = {
    ReviewReason.BASE_MISSING: mark("The base document was not collected"),
    ReviewReason.BASE_CHANGED: mark("The base document changed"),
    ReviewReason.INCOMPLETE: mark("The page is incomplete"),
    ReviewReason.FAILED: mark("Failed"),
    ReviewReason.CHANGED: mark("Changed"),
    ReviewReason.NEW: mark("New"),
    ReviewReason.GONE: mark("Gone"),
}


def browse_path(urn: str, document_id: int) -> str:
    """Return the browse address of a document."""
    return item_path(urn, f"/browse?document={document_id}")


def review_list(entries: Iterable[ReviewEntry]) -> None:
    """Show the documents to review first, each with a link."""
    with ui.element("ol").classes("w-full m-0 p-0 list-none text-sm").props(f'aria-label="{_("Review first")}"'):
        for entry in entries:
            with ui.element("li").classes("mb-2"):
                ui.label(_(REVIEW_LABELS[entry.kind])).classes("font-medium")
                ui.link(entry.url, browse_path(entry.urn, entry.document_id)).classes("break-all")
                if entry.reason_code:
                    ui.label(translate_reason(entry.reason_code, entry.reason_parameters)).classes("break-all")


DOCUMENTS_PER_PAGE = 50

DocumentLoader = Callable[[int, str | None], ResultPage[DocumentSummary]]
"""Loads up to a number of documents after a cursor."""


class DocumentList:
    """A paged list of documents that is loaded in the background, with progress."""

    def __init__(self, urn: str, load: DocumentLoader, name: str) -> None:
        self._urn = urn
        self._load = load
        self._language = language()
        self._cursors: list[str | None] = [None]
        self._next_cursor: str | None = None
        self._round = 0
        self._progress = ui.linear_progress(0.0, show_value=False).props("instant-feedback").classes("w-full")
        self._progress.props["aria-label"] = _("Search progress")
        self._status = ui.label().props('role="status"').classes("text-sm")
        self._table = data_table(_columns(), [], name, key="id", search=False)
        with ui.row().classes("mt-2"):
            self._back_button = ui.button(_("Back"), icon="chevron_left", on_click=self._show_previous).props("outline")
            self._next_button = ui.button(_("Next"), icon="chevron_right", on_click=self._show_next).props("outline")
        ui.timer(0.01, self.begin, once=True)

    async def begin(self) -> None:
        """Load the first page; a load that is still running is abandoned."""
        self._cursors = [None]
        await self._load_page()

    async def _show_previous(self) -> None:
        self._cursors.pop()
        await self._load_page()

    async def _show_next(self) -> None:
        self._cursors.append(self._next_cursor)
        await self._load_page()

    async def _load_page(self) -> None:
        set_language(self._language)
        self._round += 1
        round_number, rows, cursor = self._round, list[DocumentSummary](), self._cursors[-1]
        with notify_errors():
            while True:
                found = await run_in_thread(self._load, DOCUMENTS_PER_PAGE - len(rows), cursor)
                if round_number != self._round:
                    return
                rows, cursor = rows + found.rows, found.next
                is_done = cursor is None or len(rows) >= DOCUMENTS_PER_PAGE
                self._show(rows, found.searched, is_done)
                if is_done:
                    self._next_cursor = cursor
                    self._next_button.set_visibility(cursor is not None)
                    return

    def _show(self, rows: Sequence[DocumentSummary], searched: float, is_done: bool) -> None:
        self._table.rows = [_row(self._urn, row) for row in rows]
        self._table.update()
        self._progress.set_visibility(not is_done)
        self._progress.value = searched
        self._back_button.set_visibility(len(self._cursors) > 1)
        self._next_button.set_visibility(False)
        shown = _("{number} documents", number=format_number(len(rows)))
        if is_done:
            self._status.text = shown
        else:
            self._status.text = _("{shown} so far; {share} searched", shown=shown, share=format_share(searched * 100))


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


def withheld_label(mark: WithheldMark | None) -> str:
    """Return whether a document is taken down or until when it is withheld; empty if it is shown."""
    if mark is None:
        return ""
    return _("taken down") if mark.until is None else _("withheld until {moment}", moment=format_moment(mark.until))


def state_with_mark(state: int, mark: WithheldMark | None) -> str:
    """Return the state of a document in a list, with its mark if it is withheld."""
    return ", ".join(filter(None, (f"{state} {state_label(state)}", withheld_label(mark))))


def _row(urn: str, row: DocumentSummary) -> dict[str, Any]:
    return {
        "id": row.id,
        "url": row.url,
        "url_to": item_path(urn, f"/documents/{row.id}"),
        "state": row.state,
        "meaning": state_with_mark(row.state, row.withheld),
        "type": row.type or "–",
        "size": row.size,
        "bytes": "–" if row.size is None else format_size(row.size),
        "depth": row.depth,
        "server": row.server,
        "collected": format_moment(row.collected_at),
    }
