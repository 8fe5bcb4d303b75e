"""The form of figures 3.3 and 3.4: grouped, with help on every field, checked by the model as one types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services import publications
from tarantula.services.context import ServiceContext
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.publication_form import (
    FIELD_GROUPS,
    field_text,
    is_boolean_field,
    parse_fields,
    publication_field_help,
)
from tarantula.web.components.publication_form_part_controls import FieldChoices, field_control
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import translate_sentence

OPEN_GROUPS = 4
"""How many groups are open from the start: those that figures 3.3 and 3.4 have."""


class PublicationForm:
    """Every field of a publication, new or *name*."""

    def __init__(self, desk: ServiceContext, values: dict[str, Any], name: str | None, *, writable: bool) -> None:
        self._desk = desk
        self._name = name
        self._round = 0
        self._touched: set[str] = set()
        self._controls: dict[str, Any] = {}
        self._watchers: list[Callable[[], Any]] = []
        choices = FieldChoices.of(desk)
        for number, (title, fields) in enumerate(FIELD_GROUPS.items()):
            self._group(title, fields, number < OPEN_GROUPS, choices, values, writable)
        self._together = text_element("p", "", "text-red-900 font-bold").props('role="alert"')
        self._together.set_visibility(False)

    def on_change(self, watcher: Callable[[], Any]) -> None:
        """Have something done whenever a field was changed and checked."""
        self._watchers.append(watcher)

    def fields(self) -> dict[str, Any]:
        """Return what stands in the form, as the model reads it, or say what cannot be read."""
        return parse_fields({field: control.value for field, control in self._controls.items()})

    async def check(self, *, everything: bool = False) -> bool:
        """Ask the model, and show what it says of the fields that were touched; say whether all is well."""
        self._round += 1
        asked = self._round
        try:
            complaints = await run_in_thread(publications.check_fields, self._desk, self.fields(), self._name)
        except TarantulaError as error:
            complaints = {"settings": str(error)}
        # Somebody typed on meanwhile: another answer is on its way.
        if asked == self._round:
            if everything:
                self._touched |= self._controls.keys()
            self._show(complaints)
        return not complaints

    def _group(
        self,
        title: str,
        fields: tuple[str, ...],
        is_open: bool,
        choices: FieldChoices,
        values: dict[str, Any],
        writable: bool,
    ) -> None:
        with ui.expansion(_(title), value=is_open).classes("w-full border border-slate-300 rounded mb-2") as group:
            group.props["header-class"] = "text-lg font-bold bg-slate-100"
            with ui.element("div").classes("grid grid-cols-1 md:grid-cols-2 gap-x-6 gap-y-3 w-full p-2"):
                for field in fields:
                    text = field_text(field, values.get(field), values.get("zone") or "")
                    self._field(field, text, choices, writable and not (field == "name" and self._name))

    def _field(self, field: str, text: Any, choices: FieldChoices, writable: bool) -> None:
        with ui.element("div").classes("min-w-0"):
            control = field_control(field, text, choices)
            control.props["aria-describedby"] = f"help-{field}"
            if not writable:
                control.props("readonly" if not is_boolean_field(field) else "disable")
            text_element("p", _(publication_field_help(field)), "help").props(f'id="help-{field}"')
        control.on_value_change(lambda: self._changed(field))
        self._controls[field] = control

    async def _changed(self, field: str) -> None:
        self._touched.add(field)
        await self.check()
        for watcher in self._watchers:
            await watcher()

    def _show(self, complaints: dict[str, str]) -> None:
        for field, control in self._controls.items():
            if not is_boolean_field(field):
                said = complaints.get(field) if field in self._touched else None
                control.error = translate_sentence(said) if said else None
        self._together.set_text(translate_sentence(complaints.get("", "")))
        self._together.set_visibility("" in complaints)
