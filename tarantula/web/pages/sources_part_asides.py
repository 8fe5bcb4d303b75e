"""What was put aside of a source: shown until somebody who may decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams import values as stream_values
from tarantula.services.streams.sources_part_rows import SourceRow
from tarantula.services.streams.values import AsideRow
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import section
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.format import format_timestamp
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import translate_sentence


class HeldReadings:
    """Texts that may not be the value that was meant."""

    def __init__(self, desk: ServiceContext, row: SourceRow, decided: Callable[[], Awaitable[None]]) -> None:
        self._desk, self._row, self._decided = desk, row, decided
        self._place = ui.element("div").classes("w-full")

    def show(self, rows: list[AsideRow]) -> None:
        """Show what waits for a decision; nothing at all if nothing does."""
        self._place.clear()
        if rows:
            with self._place, section(_("Put aside")), ui.element("ul").classes("w-full m-0 p-0 list-none"):
                for row in rows:
                    with ui.element("li").classes("mb-3 border-l-4 border-amber-600 pl-3"):
                        self._aside(row)

    def _aside(self, row: AsideRow) -> None:
        where = f"{row.field} · {row.row}" if row.row else row.field
        text_element("p", f"{where}: {row.read}", "m-0 font-bold break-words")
        text_element("p", translate_sentence(row.why), "m-0 break-words")
        text_element(
            "p", _("{when}, read {number} times", when=format_timestamp(row.at), number=row.times), "m-0 text-sm"
        )
        if self._row.may_change:
            with ui.row():
                self._button(row, _("It is the value"), AsideDecision.ACCEPTED, "check")
                self._button(row, _("It is not"), AsideDecision.DISMISSED, "close")

    def _button(self, row: AsideRow, words: str, decision: AsideDecision, icon: str) -> None:
        async def decide() -> None:
            with notify_errors():
                await run_in_thread(stream_values.decide_put_aside, self._desk, self._row.name, row.id, decision)
            await self._decided()

        button = ui.button(words, icon=icon, on_click=decide).props("outline dense no-caps")
        button.props["aria-label"] = f"{words}: {row.read}"
