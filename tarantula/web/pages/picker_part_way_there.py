"""How a page is reached that is not simply there: with scripts, by steps, with variables, for what is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from tarantula.streams.sources.config_part_steps import BrowserAction, BrowserStep
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormControl
from tarantula.web.components.forms_part_dialogs import select_field
from tarantula.web.components.source_form_part_pairs_box import variables_field
from tarantula.web.components.source_form_part_sent_form import RequestForm
from tarantula.web.i18n import _, mark

ACTION_LABELS = {
    BrowserAction.GO: mark("go to an address"),
    BrowserAction.FILL: mark("fill in a field"),
    BrowserAction.CHOOSE: mark("choose one of a list"),
    BrowserAction.CLICK: mark("click"),
    BrowserAction.WAIT: mark("wait until it is there"),
}
MAX_STEPS = 20


class AccessForm:
    """A switch for scripts, a list of steps, what stands for words in braces, and what is sent."""

    def __init__(self) -> None:
        self._rows: list[_StepRow] = []
        self._render = ui.switch(_("As a browser shows it, with scripts"))
        with ui.expansion(_("Steps to get there, and variables")).classes(
            "w-full border border-slate-300 rounded mb-2"
        ):
            text_element(
                "p", _("They are done in a browser, one after the other, each time that the source is read."), "help"
            )
            self._list = ui.element("ol").classes("w-full m-0 p-0 list-none")
            ui.button(_("Add a step"), icon="add", on_click=self._add).props("flat no-caps")
            self._variables = variables_field({})
        with ui.expansion(_("What is sent to the server")).classes("w-full border border-slate-300 rounded mb-2"):
            self._sent = RequestForm()

    @property
    def controls(self) -> dict[str, FormControl]:
        """Return where what may be wrong is written."""
        return {"variables": self._variables.control, **self._sent.controls}

    @property
    def render(self) -> bool:
        """Whether a browser makes the page."""
        return bool(self._render.value or self._rows)

    def steps(self) -> list[BrowserStep]:
        """Return the steps as they stand there."""
        return [row.step() for row in self._rows]

    def variables(self) -> dict[str, str]:
        """Return the variables, or say which line is none."""
        return self._variables.values()

    def sent(self) -> dict[str, Any]:
        """Return how the server is asked, or say which line is no header."""
        return self._sent.values()

    def _add(self) -> None:
        if len(self._rows) >= MAX_STEPS:
            return
        with self._list:
            self._rows.append(_StepRow(self._remove))
        self._name()

    def _remove(self, row: _StepRow) -> None:
        self._rows.remove(row)
        self._list.remove(row.place)
        self._name()

    def _name(self) -> None:
        for number, row in enumerate(self._rows, 1):
            row.legend.set_text(_("Step {number}", number=number))


class _StepRow:
    """One step."""

    def __init__(self, remove: Callable[[_StepRow], None]) -> None:
        self.place = ui.element("li").classes("w-full")
        with self.place, ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            self.legend = text_element("legend", "", "text-sm font-bold px-1")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-3 gap-2 w-full"):
                actions = {str(action): _(words) for action, words in ACTION_LABELS.items()}
                self._action = select_field(_("What is done"), actions, str(BrowserAction.CLICK))
                self._where = ui.input(_("Where: a CSS selector, or an address")).props("outlined dense maxlength=1000")
                self._value = ui.input(_("With what")).props("outlined dense maxlength=1000")
            ui.button(_("Leave out"), icon="delete", on_click=lambda: remove(self)).props(
                "flat dense no-caps color=red-10"
            )

    def step(self) -> BrowserStep:
        """Return it as the model has it."""
        return BrowserStep(
            action=BrowserAction(self._action.value),
            where=str(self._where.value or ""),
            value=str(self._value.value or ""),
        )
