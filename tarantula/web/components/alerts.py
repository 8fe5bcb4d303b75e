"""The form of an alert: what is written is checked as it is written, and tried on the past before it is stored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts
from tarantula.services.streams import sources as streams
from tarantula.services.streams.alerts import AlertRow, CheckedCondition, DryRun
from tarantula.web.components.background import notify_done, run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormControl, FormErrors
from tarantula.web.components.forms_part_dialogs import dialog, dialog_buttons
from tarantula.web.format_part_figures import format_moment
from tarantula.web.i18n import _, language, set_language
from tarantula.web.i18n_part_retelling import translate_sentence

MAX_SHOWN_FIRINGS = 20
"""Firings of the past that are listed."""


class AlertForm:
    """A dialog for a new alert, or for one that is there."""

    def __init__(
        self, desk: ServiceContext, row: AlertRow | None, stored: Callable[[], None], source: str = ""
    ) -> None:
        self._desk, self._row, self._stored = desk, row, stored
        self._language = language()
        self._round = 0
        with dialog(_("Edit the alert") if row else _("New alert")) as self._dialog:
            self._source = ui.input(
                _("Source"),
                value=row.source if row else source,
                autocomplete=None if row else alerts.source_names(desk),
                on_change=self._check,
            )
            self._source.classes("w-full").props("outlined dense maxlength=200" + (" readonly" if row else ""))
            self._condition = ui.textarea(_("Condition"), value=row.condition if row else "", on_change=self._check)
            self._condition.classes("w-full").props(
                'outlined dense autogrow debounce=300 maxlength=2000 aria-describedby="help-condition"'
            )
            text_element(
                "p",
                _("As in: temperature > 30 and not wind > 50; price changed by 5% in 1h; silent for 2h"),
                "help m-0",
            ).props('id="help-condition"')
            self._answer = ui.element("div").classes("w-full").props('aria-live="polite" data-testid="checked"')
            ui.button(_("Try it on the last 30 days"), icon="history", on_click=self._try).props("flat dense")
            self._past = ui.element("div").classes("w-full").props('aria-live="polite" data-testid="past"')
            self._terms(row)
            self._complaints = FormErrors(self._controls)
            dialog_buttons(self._dialog, _("Save"), self._store)
        ui.timer(0.01, self._check, once=True)

    def open(self) -> None:
        """Show it."""
        self._dialog.open()

    def _terms(self, row: AlertRow | None) -> None:
        self._name = _line(_("Name"), row.name if row else "")
        self._margin = _line(_("Margin before it may fire again"), row.margin if row and row.margin != "0" else "")
        self._hold = _line(_("Has to be true for, as 10m"), format_duration(row.hold) if row and row.hold else "")
        self._pause = _line(_("Least time between two, as 1h"), format_duration(row.pause) if row and row.pause else "")
        self._notify = _line(_("Also tell"), "; ".join(row.notify) if row else "")
        self._notify.props('maxlength=2000 aria-describedby="help-notify"')
        how = _("E-mail, SMS and others, as mailto://user:password@example.org; several with ; between them.")
        text_element("p", how, "help m-0").props('id="help-notify"')
        ui.button(_("Send a trial message"), icon="send", on_click=self._tell).props("flat dense")
        self._at_first = ui.checkbox(_("Fire also if it is true already"), value=row.at_first if row else False)

    def _fields(self) -> dict[str, Any]:
        return {
            "condition": self._condition.value or "",
            "name": self._name.value or "",
            "margin": self._margin.value or "0",
            "hold": self._hold.value or None,
            "pause": self._pause.value or None,
            "notify": self._notify.value or "",
            "at_first": self._at_first.value,
        }

    async def _check(self) -> None:
        set_language(self._language)
        source, condition = (self._source.value or "").strip(), (self._condition.value or "").strip()
        self._round += 1
        asked = self._round
        found: CheckedCondition | str | None = None
        if source and condition:
            try:
                found = await run_in_thread(alerts.check_condition, self._desk, source, {"condition": condition})
            except TarantulaError as error:
                found = str(error)
        fields = await run_in_thread(_fields_of, self._desk, source) if source and not condition else []
        # Somebody typed on meanwhile: another answer is on its way.
        if asked != self._round:
            return
        self._answer.clear()
        with self._answer:
            if isinstance(found, str):
                text_element("p", translate_sentence(found), "text-red-900 m-0")
            elif found is not None:
                _understood(found)
            elif fields:
                text_element("p", _("Values of this source: {names}", names=", ".join(fields)), "help m-0")

    def _controls(self) -> dict[str, FormControl]:
        lines: dict[str, FormControl] = {"source": self._source, "condition": self._condition, "name": self._name}
        return {**lines, "margin": self._margin, "hold": self._hold, "pause": self._pause, "notify": self._notify}

    async def _tell(self) -> None:
        set_language(self._language)
        with self._complaints.told():
            number = await run_in_thread(alerts.send_trial_message, self._desk, self._notify.value or "")
            notify_done(_("{number} addresses took the message.", number=number))

    async def _try(self) -> None:
        set_language(self._language)
        with self._complaints.told():
            done = await run_in_thread(alerts.dry_run, self._desk, (self._source.value or "").strip(), self._fields())
            self._past.clear()
            with self._past:
                _past(done)

    async def _store(self) -> None:
        set_language(self._language)
        with self._complaints.told():
            if self._row is None:
                await run_in_thread(alerts.add_alert, self._desk, (self._source.value or "").strip(), self._fields())
            else:
                await run_in_thread(alerts.edit_alert, self._desk, self._row.id, self._fields())
            self._dialog.close()
            self._stored()


def _fields_of(desk: ServiceContext, source: str) -> list[str]:
    """Return the keys of a source's fields, each with its unit; nothing if there is no such source for somebody."""
    with suppress(TarantulaError):
        return [
            f"{one.key} ({one.unit})" if one.unit else one.key for one in streams.get_source_row(desk, source).fields
        ]
    return []


def _line(label: str, value: str) -> ui.input:
    return ui.input(label, value=value).classes("w-full").props("outlined dense maxlength=200")


def _understood(checked: CheckedCondition) -> None:
    text_element("p", _("Understood: {condition}", condition=checked.condition), "text-green-900 m-0")
    for written, meant in checked.values.items():
        text_element("p", f"{written} → {meant}", "help m-0")


def _past(done: DryRun) -> None:
    text_element("p", _("It would have fired {count} times.", count=done.count), "font-bold m-0")
    for note in done.notes:
        text_element("p", translate_sentence(note), "help m-0")
    with ui.element("ul").classes("w-full list-none p-0 max-h-48 overflow-y-auto").props('tabindex="0"'):
        for one in done.fired[-MAX_SHOWN_FIRINGS:][::-1]:
            with ui.element("li").classes("py-1"):
                text_element("p", " · ".join(part for part in (format_moment(one.at), one.row) if part), "help m-0")
                for sentence in one.why.split("\n"):
                    text_element("p", translate_sentence(sentence), "m-0 break-words")
