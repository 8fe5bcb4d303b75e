"""Alerts in the interface: the alert form, the table of alerts, the list of firings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from nicegui import events, ui

from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts, sources
from tarantula.services.streams.alerts import AlertRow, CheckedCondition, FiringRow
from tarantula.streams.alerts.replay import DryRun
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.components.forms import FormControl, FormErrors, dialog, dialog_buttons, recipient_button
from tarantula.web.i18n import _, format_moment, language, set_language

MAX_SHOWN_FIRINGS = 20
"""Maximum number of past firings in a test result."""


class AlertForm:
    """Dialog for a new or an existing alert."""

    def __init__(
        self,
        context: ServiceContext,
        row: AlertRow | None,
        on_saved: Callable[[], Awaitable[None]],
        source: str,
        known_sources: Sequence[str],
    ) -> None:
        self._context, self._row, self._on_saved = context, row, on_saved
        self._language = language()
        self._round = 0
        with dialog(_("Edit the alert") if row else _("New alert")) as self._dialog:
            self._source = ui.input(
                _("Source"),
                value=row.source if row else source,
                autocomplete=list(known_sources) or None,
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
            ui.button(_("Test on the last 30 days"), icon="history", on_click=self._test).props("flat dense")
            self._dry_run = ui.element("div").classes("w-full").props('aria-live="polite" data-testid="past"')
            self._terms(row)
            self._errors = FormErrors(self._controls)
            dialog_buttons(self._dialog, _("Save"), self._save)
        ui.timer(0.01, self._check, once=True)

    def open(self) -> None:
        """Open the dialog."""
        self._dialog.open()

    def _terms(self, row: AlertRow | None) -> None:
        self._name = _text_line(_("Name"), row.name if row else "")
        self._margin = _text_line(_("Margin before firing again"), row.margin if row and row.margin != "0" else "")
        self._hold = _text_line(
            _("Must be true for (such as 10m)"), format_duration(row.hold) if row and row.hold else ""
        )
        self._pause = _text_line(
            _("Minimum time between firings (such as 1h)"), format_duration(row.pause) if row and row.pause else ""
        )
        self._notify = _text_line(_("Also notify"), "; ".join(row.notify) if row else "")
        self._notify.props('maxlength=2000 aria-describedby="help-notify"')
        how = _("Addresses of services, such as mailto://user:password@example.org; separate several with ;.")
        text_element("p", how, "help m-0").props('id="help-notify"')
        recipient_button(self._notify)
        ui.button(_("Send a test message"), icon="send", on_click=self._send_test).props("flat dense")
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
        round_number = self._round
        result: CheckedCondition | str | None = None
        if source and condition:
            try:
                result = await run_in_thread(alerts.check_condition, self._context, source, {"condition": condition})
            except TarantulaError as error:
                result = str(error)
        fields = await run_in_thread(_fields_of, self._context, source) if source and not condition else []
        # The input has changed: a newer check is running.
        if round_number != self._round:
            return
        self._answer.clear()
        with self._answer:
            if isinstance(result, str):
                text_element("p", _(result), "text-red-900 m-0")
            elif result is not None:
                _show_parsed(result)
            elif fields:
                text_element("p", _("Values of this source: {names}", names=", ".join(fields)), "help m-0")

    def _controls(self) -> dict[str, FormControl]:
        lines: dict[str, FormControl] = {"source": self._source, "condition": self._condition, "name": self._name}
        return {**lines, "margin": self._margin, "hold": self._hold, "pause": self._pause, "notify": self._notify}

    async def _send_test(self) -> None:
        set_language(self._language)
        with self._errors.capture():
            stored = self._row.id if self._row else None
            number = await run_in_thread(alerts.send_trial_message, self._context, self._notify.value or "", stored)
            notify_done(_("The message was sent to {number} addresses.", number=number))

    async def _test(self) -> None:
        set_language(self._language)
        with self._errors.capture():
            done = await run_in_thread(
                alerts.dry_run, self._context, (self._source.value or "").strip(), self._fields()
            )
            self._dry_run.clear()
            with self._dry_run:
                _show_dry_run(done)

    async def _save(self) -> None:
        set_language(self._language)
        with self._errors.capture():
            if self._row is None:
                await run_in_thread(alerts.add_alert, self._context, (self._source.value or "").strip(), self._fields())
            else:
                await run_in_thread(alerts.edit_alert, self._context, self._row.id, self._fields())
            self._dialog.close()
            await self._on_saved()


async def open_alert_form(
    context: ServiceContext, row: AlertRow | None, on_saved: Callable[[], Awaitable[None]], source: str = ""
) -> None:
    """Open the dialog of an alert, or of a new one."""
    names = await run_in_thread(alerts.source_names, context) if row is None else []
    AlertForm(context, row, on_saved, source, names).open()


async def notify_alert_saved() -> None:
    """Show that a new alert is active."""
    notify_done(_("The alert is active."))


def _fields_of(context: ServiceContext, source: str) -> list[str]:
    """Return the field keys of a source with their units; empty if the source is not visible."""
    with suppress(TarantulaError):
        return [
            f"{entry.key} ({entry.unit})" if entry.unit else entry.key
            for entry in sources.get_source_row(context, source).fields
        ]
    return []


def _text_line(label: str, value: str) -> ui.input:
    return ui.input(label, value=value).classes("w-full").props("outlined dense maxlength=200")


def _show_parsed(checked: CheckedCondition) -> None:
    text_element("p", _("Understood: {condition}", condition=checked.condition), "text-green-900 m-0")
    for written, meant in checked.values.items():
        text_element("p", f"{written} → {meant}", "help m-0")


def _show_dry_run(done: DryRun) -> None:
    text_element("p", _("The alert would have fired {count} times.", count=done.count), "font-bold m-0")
    for note in done.notes:
        text_element("p", _(note), "help m-0")
    with ui.element("ul").classes("w-full list-none p-0 max-h-48 overflow-y-auto").props('tabindex="0"'):
        for entry in done.fired[-MAX_SHOWN_FIRINGS:][::-1]:
            with ui.element("li").classes("py-1"):
                text_element("p", " · ".join(part for part in (format_moment(entry.at), entry.row) if part), "help m-0")
                for line in _(entry.why).split("\n"):
                    text_element("p", line, "m-0 break-words")


MAX_FIRINGS = 50
"""Maximum number of firings that are counted and listed."""


class AlertsView:
    """The alerts of an account and their firings; redrawn when an alert fires."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._language = language()
        self._fired = FiringsView(context)
        subheading(_("Your alerts"))
        ui.button(_("New alert"), icon="add_alert", on_click=lambda: self._open_form(None)).classes("mb-2")
        self._alerts = ui.element("div").classes("w-full")

    async def refresh(self) -> None:
        """Load the alerts and firings, and show them."""
        await self._fired.refresh()
        rows = await run_in_thread(alerts.list_alerts, self._context)
        set_language(self._language)
        self._draw(rows)

    def _draw(self, rows: list[AlertRow]) -> None:
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
            table.on("edit", lambda event: self._open_form(by_number[event.args["id"]]))
            table.on("switch", lambda event: self._change(event, self._toggle))
            table.on("remove", lambda event: self._change(event, alerts.remove_alert))

    async def _open_form(self, row: AlertRow | None) -> None:
        set_language(self._language)
        with notify_errors():
            await open_alert_form(self._context, row, self.refresh)

    def _toggle(self, context: ServiceContext, number: int) -> None:
        alerts.edit_alert(context, number, {"on": not alerts.get_alert(context, number).on})

    async def _change(self, event: events.GenericEventArguments, call: Callable[[ServiceContext, int], None]) -> None:
        set_language(self._language)
        with notify_errors():
            await run_in_thread(call, self._context, int(event.args["id"]))
            await self.refresh()


class FiringsView:
    """Firings of the account's alerts, or with *only_unseen* only those not dismissed."""

    def __init__(self, context: ServiceContext, limit: int = MAX_FIRINGS, *, only_unseen: bool = False) -> None:
        self._context, self._limit, self._only_unseen = context, limit, only_unseen
        self._language = language()
        self.newest = 0
        """Id of the newest firing."""
        self._container = ui.element("div").classes("w-full").props('aria-live="polite" data-testid="firings"')

    async def refresh(self) -> None:
        """Load the firings, and show them."""
        rows = await run_in_thread(alerts.latest_firings, self._context, MAX_FIRINGS)
        set_language(self._language)
        self.newest = max((row.id for row in rows), default=self.newest)
        unseen = [row for row in rows if row.dismissed_at is None]
        self._container.clear()
        if self._only_unseen and not unseen:
            return
        rows = unseen if self._only_unseen else rows
        more = len(rows) - self._limit
        with self._container:
            with ui.row().classes("items-center gap-2"):
                subheading(_("Fired alerts"))
                if unseen:
                    ui.button(_("Dismiss all"), icon="done_all", on_click=lambda: self._dismiss(None)).props(
                        "flat dense"
                    )
            if not rows:
                ui.label(_("Nothing has fired yet."))
            with ui.element("ul").classes("w-full list-none p-0"):
                for row in rows[: self._limit]:
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
                for line in _(row.why).split("\n"):
                    text_element("p", line, "m-0 break-words")
                text_element("p", format_moment(row.at), "help m-0")
                if row.untold:
                    text_element("p", _(row.untold), "m-0 text-sm text-amber-900 break-words")
            if unseen:
                button = ui.button(icon="done", on_click=lambda number=row.id: self._dismiss([number])).props(
                    "flat dense"
                )
                button.props["aria-label"] = _("Dismiss {name}", name=title)

    async def _dismiss(self, numbers: list[int] | None) -> None:
        set_language(self._language)
        with notify_errors():
            await run_in_thread(alerts.dismiss_firings, self._context, numbers)
            await self.refresh()


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
