"""A search field that suggests sources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources
from tarantula.services.streams.sources import SourceRow
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import text_element
from tarantula.web.i18n import _


class SourceFinder:
    """Suggests visible sources while typing, and passes the selected one to a callback."""

    def __init__(self, context: ServiceContext, label: str, choose: Callable[[str], Awaitable[None]]) -> None:
        self._context = context
        self._choose = choose
        self._round = 0
        with ui.element("div").classes("w-full relative"):
            self._line = ui.input(label).classes("w-full").props('outlined dense clearable debounce="150"')
            self._line.props("autocomplete=off maxlength=200 type=search")
            self._status = text_element("p", "", "sr-only").props('role="status"')
            self._list = ui.element("ul").classes("w-full m-0 p-0 list-none max-h-80 overflow-y-auto")
            self._list.props["aria-label"] = _("Sources that were found")
        self._line.on_value_change(self._changed)
        # Enter selects the first suggestion.
        self._line.on("keydown.enter", self._select_first)
        self._names: list[str] = []

    async def _changed(self) -> None:
        self._round += 1
        round_number, query = self._round, str(self._line.value or "")
        with notify_errors():
            rows = await run_in_thread(sources.suggest_sources, self._context, query)
            # The input has changed: a newer search is running.
            if round_number == self._round:
                self._show(rows, has_query=bool(query.strip()))

    def _show(self, rows: list[SourceRow], *, has_query: bool) -> None:
        self._names = [row.name for row in rows]
        self._status.text = _("{number} sources were found.", number=len(rows)) if has_query else ""
        self._list.clear()
        with self._list:
            for row in rows:
                with ui.element("li").classes("w-full"):
                    self._suggestion(row)
            if has_query and not rows:
                with ui.element("li").classes("p-2"):
                    ui.label(_("No source matches."))

    def _suggestion(self, row: SourceRow) -> None:
        async def choose() -> None:
            await self._select(row.name)

        button = ui.button(on_click=choose).props("flat no-caps align=left color=blue-10").classes("w-full text-left")
        with button, ui.element("span").classes("w-full min-w-0 text-left"):
            text_element("span", row.title or row.name, "font-bold break-words")
            text_element(
                "span", f" {row.name}" + (" · " + ", ".join(row.tags) if row.tags else ""), "text-sm break-all"
            )

    async def _select_first(self) -> None:
        if self._names:
            await self._select(self._names[0])

    async def _select(self, name: str) -> None:
        self._line.value = ""
        self._show([], has_query=False)
        await self._choose(name)
