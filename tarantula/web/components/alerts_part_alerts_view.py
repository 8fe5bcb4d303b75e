"""What fired, and the alerts that somebody has: shown, dismissed, written, switched on and off, removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts
from tarantula.services.streams.alerts import AlertRow, FiringRow
from tarantula.web.components.alerts import AlertForm
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import subheading, text_element
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment
from tarantula.web.i18n import _, language, set_language
from tarantula.web.i18n_part_retelling import translate_sentence

MAX_FIRINGS = 50
"""Firings that are counted, and shown on a page of their own."""


class AlertsView:
    """Somebody's alerts: a part of a page, which is drawn anew when something fired."""

    def __init__(self, desk: ServiceContext) -> None:
        self._desk = desk
        self._language = language()
        self._fired = FiringsView(desk)
        subheading(_("What is watched"))
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
                TableColumn("on", _("Watched")),
                TableColumn("do", _("Change")),
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
                subheading(_("What fired"))
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
