"""Alerts in the interface: the alert form, the table of alerts, the list of firings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nicegui import events, ui

from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts
from tarantula.services.streams import sources as streams
from tarantula.services.streams.alerts import AlertRow, CheckedCondition, FiringRow
from tarantula.streams.alerts.replay import DryRun
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import subheading, text_element
from tarantula.web.components.forms import FormControl, FormErrors, dialog, dialog_buttons
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format import format_moment
from tarantula.web.i18n import _, language, set_language, translate_sentence

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
                _("For example: temperature > 30 and not wind > 50; price changed by 5% in 1h; silent for 2h"),
                "help m-0",
            ).props('id="help-condition"')
            self._answer = ui.element("div").classes("w-full").props('aria-live="polite" data-testid="checked"')
            ui.button(_("Test on the last 30 days"), icon="history", on_click=self._try).props("flat dense")
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
        self._margin = _line(_("Margin before firing again"), row.margin if row and row.margin != "0" else "")
        self._hold = _line(_("Must be true for (such as 10m)"), format_duration(row.hold) if row and row.hold else "")
        self._pause = _line(
            _("Minimum time between firings (such as 1h)"), format_duration(row.pause) if row and row.pause else ""
        )
        self._notify = _line(_("Also notify"), "; ".join(row.notify) if row else "")
        self._notify.props('maxlength=2000 aria-describedby="help-notify"')
        how = _("E-mail, SMS and other addresses, such as mailto://user:password@example.org; separate several with ;.")
        text_element("p", how, "help m-0").props('id="help-notify"')
        ui.button(_("Send a test message"), icon="send", on_click=self._tell).props("flat dense")
        self._at_first = ui.checkbox(
            _("Fire at once if the condition is already true"), value=row.at_first if row else False
        )

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
            notify_done(_("The message was sent to {number} addresses.", number=number))

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
    text_element("p", _("The alert would have fired {count} times.", count=done.count), "font-bold m-0")
    for note in done.notes:
        text_element("p", translate_sentence(note), "help m-0")
    with ui.element("ul").classes("w-full list-none p-0 max-h-48 overflow-y-auto").props('tabindex="0"'):
        for one in done.fired[-MAX_SHOWN_FIRINGS:][::-1]:
            with ui.element("li").classes("py-1"):
                text_element("p", " · ".join(part for part in (format_moment(one.at), one.row) if part), "help m-0")
                for sentence in one.why.split("\n"):
                    text_element("p", translate_sentence(sentence), "m-0 break-words")


MAX_FIRINGS = 50
"""Firings that are counted, and shown on a page of their own."""


class AlertsView:
    """Somebody's alerts: a part of a page, which is drawn anew when something fired."""

    def __init__(self, desk: ServiceContext) -> None:
        self._desk = desk
        self._language = language()
        self._fired = FiringsView(desk)
        subheading(_("Your alerts"))
        ui.button(_("New alert"), icon="add_alert", on_click=lambda: self._write(None)).classes("mb-2")
        self._alerts = ui.element("div").classes("w-full")
        self._draw()

    def refresh(self) -> None:
        """Show what is there by now."""
        set_language(self._language)
        self._fired.refresh()
        self._draw()

    def _draw(self) -> None:
        rows = alerts.list_alerts(self._desk)
        self._alerts.clear()
        with self._alerts:
            columns = [
                TableColumn("source", _("Source")),
                TableColumn("name", _("Name")),
                TableColumn("condition", _("Condition")),
                TableColumn("on", _("Active")),
                TableColumn("do", _("Actions")),
            ]
            table = data_table(columns, [_alert_row(row) for row in rows], _("Alerts"), key="id")
            by_number = {row.id: row for row in rows}
            table.on("edit", lambda event: self._write(by_number[event.args["id"]]))
            table.on("switch", lambda event: self._change(event, self._switch))
            table.on("remove", lambda event: self._change(event, alerts.remove_alert))

    def _write(self, row: AlertRow | None) -> None:
        AlertForm(self._desk, row, self.refresh).open()

    def _switch(self, desk: ServiceContext, number: int) -> None:
        alerts.edit_alert(desk, number, {"on": not alerts.get_alert(desk, number).on})

    async def _change(self, event: events.GenericEventArguments, call: Callable[[ServiceContext, int], None]) -> None:
        set_language(self._language)
        with notify_errors():
            await run_in_thread(call, self._desk, int(event.args["id"]))
            self.refresh()


class FiringsView:
    """What somebody's alerts fired, those first that were not dismissed; or only those, as long as there are any."""

    def __init__(self, desk: ServiceContext, most: int = MAX_FIRINGS, *, only_unseen: bool = False) -> None:
        self._desk, self._most, self._only_unseen = desk, most, only_unseen
        self._language = language()
        self.newest = 0
        """The number of the firing that came last."""
        self._place = ui.element("div").classes("w-full").props('aria-live="polite" data-testid="firings"')
        self.refresh()

    def refresh(self) -> None:
        """Show what has fired by now."""
        set_language(self._language)
        rows = alerts.latest_firings(self._desk, MAX_FIRINGS)
        self.newest = max((row.id for row in rows), default=self.newest)
        unseen = [row for row in rows if row.dismissed_at is None]
        self._place.clear()
        if self._only_unseen and not unseen:
            return
        rows = unseen if self._only_unseen else rows
        more = len(rows) - self._most
        with self._place:
            with ui.row().classes("items-center gap-2"):
                subheading(_("Fired alerts"))
                if unseen:
                    ui.button(_("Dismiss all"), icon="done_all", on_click=lambda: self._dismiss(None)).props(
                        "flat dense"
                    )
            if not rows:
                ui.label(_("Nothing has fired yet."))
            with ui.element("ul").classes("w-full list-none p-0"):
                for row in rows[: self._most]:
                    self._firing(row)
            if self._only_unseen and more > 0:
                ui.link(_("{number} more", number=more if len(rows) < MAX_FIRINGS else f"{more}+"), "/alerts")

    def _firing(self, row: FiringRow) -> None:
        unseen = row.dismissed_at is None
        with ui.element("li").classes("flex gap-2 items-start py-2 border-b border-slate-300"):
            ui.icon("notifications_active" if unseen else "notifications_none", size="sm").props('aria-hidden="true"')
            with ui.element("div").classes("min-w-0 grow"):
                title = " · ".join(part for part in (row.source, row.row, row.name) if part)
                text_element("p", title, "m-0 break-words" + (" font-bold" if unseen else ""))
                for sentence in row.why.split("\n"):
                    text_element("p", translate_sentence(sentence), "m-0 break-words")
                text_element("p", format_moment(row.at), "help m-0")
                if row.untold:
                    text_element("p", translate_sentence(row.untold), "m-0 text-sm text-amber-900 break-words")
            if unseen:
                button = ui.button(icon="done", on_click=lambda number=row.id: self._dismiss([number])).props(
                    "flat dense"
                )
                button.props["aria-label"] = _("Dismiss {name}", name=title)

    async def _dismiss(self, numbers: list[int] | None) -> None:
        set_language(self._language)
        with notify_errors():
            await run_in_thread(alerts.dismiss_firings, self._desk, numbers)
            self.refresh()


def _alert_row(row: AlertRow) -> dict[str, Any]:
    switch = (
        {"icon": "pause", "label": _("Switch off"), "says": _("Switch off {name}", name=row.name), "event": "switch"}
        if row.on
        else {
            "icon": "play_arrow",
            "label": _("Switch on"),
            "says": _("Switch on {name}", name=row.name),
            "event": "switch",
        }
    )
    return {
        "id": row.id,
        "source": row.source,
        "name": row.name,
        "condition": row.condition,
        "on": _("yes") if row.on else _("no"),
        "do": "",
        "do_buttons": [
            {"icon": "edit", "label": _("Edit"), "says": _("Edit {name}", name=row.name), "event": "edit"},
            switch,
            {"icon": "delete", "label": _("Remove"), "says": _("Remove {name}", name=row.name), "event": "remove"},
        ],
    }
