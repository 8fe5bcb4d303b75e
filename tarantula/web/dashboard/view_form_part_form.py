"""The dialog in which a view is edited: its values, what is worked out of them, which are shown, in which order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as streams
from tarantula.streams.views.config import ViewConfig
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormControl, FormErrors
from tarantula.web.components.forms_part_dialogs import dialog, dialog_buttons, select_field, text_field
from tarantula.web.components.labels import FUNCTION_LABELS, VIEW_KIND_LABELS, WINDOW_LABELS
from tarantula.web.components.source_finder import SourceFinder
from tarantula.web.dashboard.view_form import SourceChoices, ViewFormRows
from tarantula.web.i18n import _

SaveHandler = Callable[[dict[str, Any]], Awaitable[None]]


class ViewForm:
    """Everything of a view, in a dialog."""

    def __init__(self, desk: ServiceContext, view: ViewConfig, store: SaveHandler) -> None:
        self._desk, self._store = desk, store
        self._rows = ViewFormRows(view, self._ordering)
        with dialog(_("Edit the view")) as self.dialog:
            self._title = text_field(_("Title"), view.title)
            self._kind = select_field(
                _("Shown as"), {kind: _(words) for kind, words in VIEW_KIND_LABELS.items()}, view.kind
            )
            _list(_("Values"), self._rows.draw_parts)
            SourceFinder(desk, _("Add a value: words of its source"), self._add_source)
            _list(_("Formulas"), self._rows.draw_formulas)
            text_element(
                "p", _("Arithmetic on the letters of the values: (a - b) / b * 100, round(a, 2), mean(a)."), "help m-0"
            )
            _adding(_("Add a formula"), self._rows.add_formula)
            _list(_("Only what fulfils"), self._rows.draw_conditions)
            _adding(_("Add a condition"), self._rows.add_condition)
            self._order = select_field(_("Ordered by"), self._ordered_by(), view.order)
            self._descending = ui.checkbox(_("The largest first"), value=view.descending)
            self._window = _windows(view.window)
            self._function = select_field(
                _("Where one value is shown, it is"),
                {one: _(words) for one, words in FUNCTION_LABELS.items()},
                view.function,
            )
            self._events = ui.checkbox(_("A table has what happened in the window"), value=view.events)
            self._complaints = FormErrors(self._controls)
            dialog_buttons(self.dialog, _("Save"), self._save)

    def fields(self) -> dict[str, Any]:
        """Return what stands in the dialog."""
        return {
            "title": self._title.value or "",
            "kind": self._kind.value,
            **self._rows.fields(),
            "function": self._function.value,
            "window": float(self._window.value),
            "events": bool(self._events.value),
            "order": self._order.value or "",
            "descending": bool(self._descending.value),
        }

    async def open(self) -> None:
        """Show it, as soon as the fields of its sources are known."""
        for name in self._rows.sources:
            await self._know(name)
        self._rows.redraw()
        self.dialog.open()

    async def _know(self, name: str) -> SourceChoices | None:
        with notify_errors():
            row = await run_in_thread(streams.get_source_row, self._desk, name)
            found = SourceChoices(row, await run_in_thread(streams.list_row_names, self._desk, name))
            self._rows.know(found)
            return found
        return None

    async def _add_source(self, name: str) -> None:
        source = await self._know(name)
        if source is not None and source.row.fields:
            self._rows.add_part(name)

    async def _save(self) -> None:
        with self._complaints.told():
            await self._store(self.fields())
            self.dialog.close()

    def _controls(self) -> dict[str, FormControl]:
        return {"title": self._title, **self._rows.controls}

    def _ordering(self) -> None:
        """Let rows be ordered by what there is by now."""
        options = self._ordered_by()
        self._order.set_options(options, value=self._order.value if self._order.value in options else "")

    def _ordered_by(self) -> dict[str, str]:
        return {"": _("as the source has it"), **self._rows.names(at=True)}


def _list(title: str, draw: Callable[[], Any]) -> None:
    with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 min-w-0"):
        text_element("legend", title, "text-sm font-bold px-1")
        draw()


def _windows(seconds: float) -> ui.select:
    options = {str(one): _(words) for one, words in WINDOW_LABELS.items()}
    options.setdefault(str(seconds), _("{number} seconds", number=f"{seconds:g}"))
    return select_field(_("Window"), options, str(seconds))


def _adding(words: str, add: Callable[[], None]) -> None:
    ui.button(words, icon="add", on_click=add).props("flat dense no-caps color=blue-10")
