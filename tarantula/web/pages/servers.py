"""The servers of an item, and the settings of each server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.core.states import ItemState
from tarantula.scope.servers import ServerSettings
from tarantula.services import items, servers
from tarantula.services.context import ServiceContext
from tarantula.services.servers import ItemServerRow
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread, show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table
from tarantula.web.components.items import item_navigation, item_path
from tarantula.web.i18n import _, format_number, mark
from tarantula.web.layout import heading, page

MAX_SERVERS = 2000
"""Maximum number of servers shown; others can be found by name."""

SETTING_LABELS = {
    "depth": (mark("Depth"), mark("Maximum number of links from the base document.")),
    "documents": (mark("Documents"), mark("Maximum number of documents requested from it in one item.")),
    "delay": (mark("Pause"), mark("Seconds between two requests.")),
}
"""Numeric settings with label and help text."""


@page("/items/{urn}/servers", mark("Servers"))
def servers_page(context: ServiceContext, urn: str, words: str = "") -> None:
    """Show the servers that the item encountered."""
    heading(_("Servers of {urn}", urn=urn))
    item_navigation(urn, "/servers")
    filter_field = ui.input(_("Words in the name"), value=words).props("outlined dense clearable").classes("w-64")
    filter_field.on(
        "keydown.enter",
        lambda: ui.navigate.to(f"{item_path(urn, '/servers')}?words={quote(filter_field.value or '', safe='')}"),
    )
    show_when_loaded(
        lambda: (items.get_item(context, urn), servers.list_servers(context, urn, words)),
        lambda found: _show(context, urn, found[0].publication, found[0].state, found[1]),
    )


def _show(context: ServiceContext, urn: str, publication: str, state: str, rows: list[ItemServerRow]) -> None:
    may_change = context.person.role.allows(Role.CURATOR)
    columns = [
        TableColumn("server", _("Server")),
        TableColumn("verdict", _("Decision")),
        TableColumn("documents", _("Documents"), number=True),
        TableColumn("collected", _("Collected"), number=True),
        TableColumn("waiting", _("Waiting"), number=True),
        TableColumn("refused", _("Refused"), number=True),
        TableColumn("settings", _("Own settings")),
    ]
    if may_change:
        columns.append(TableColumn("do", _("Actions")))
    if len(rows) > MAX_SERVERS:
        ui.label(_("{number} servers; only those with the most documents are shown.", number=format_number(len(rows))))
    can_accept = may_change and state != ItemState.ARCHIVED
    shown = [_row(urn, row, may_change, can_accept) for row in rows[:MAX_SERVERS]]
    table = data_table(columns, shown, _("Servers"), key="server")
    table.on("accept", lambda event: _accept(context, urn, event.args["server"]))
    settings_by_server = {row.server: row.settings for row in rows[:MAX_SERVERS]}
    table.on(
        "settings",
        lambda event: _SettingsDialog(
            context, publication, event.args["server"], settings_by_server[event.args["server"]]
        ).open(),
    )


def _row(urn: str, row: ItemServerRow, may_change: bool, can_accept: bool) -> dict[str, Any]:
    buttons = []
    if can_accept and row.refused:
        buttons.append(_button("check", _("Accept"), _("Accept {name} in this item", name=row.server), "accept"))
    if may_change:
        buttons.append(_button("tune", _("Settings"), _("Settings of {name}", name=row.server), "settings"))
    return {
        "server": row.server,
        "server_to": f"{item_path(urn, '/documents')}?server={quote(row.server, safe='')}",
        "verdict": _decision(row),
        "documents": row.documents,
        "collected": row.collected,
        "waiting": row.waiting,
        "refused": row.refused,
        "settings": settings_text(row.settings),
        "do": "",
        "do_buttons": buttons,
    }


def _decision(row: ItemServerRow) -> str:
    if not row.refused:
        return _("accepted")
    return _("refused") if row.refused == row.documents else _("partly accepted")


def _button(icon: str, label: str, says: str, event: str) -> dict[str, str]:
    return {"icon": icon, "label": label, "says": says, "event": event}


def settings_text(settings: ServerSettings) -> str:
    """Return the settings of a server as text."""
    parts = [
        f"{_(label)} {format_number(value)}"
        for name, (label, _help) in SETTING_LABELS.items()
        if (value := getattr(settings, name)) is not None
    ]
    if settings.excluded is not None:
        parts.append(_("excluded") if settings.excluded else _("not excluded"))
    return ", ".join(parts)


async def _accept(context: ServiceContext, urn: str, server: str) -> None:
    with notify_errors():
        waiting = format_number(await run_in_thread(servers.accept_server, context, urn, server))
        notify_done(_("{name} is accepted; {number} of its documents are now waiting.", name=server, number=waiting))


class _SettingsDialog:
    """Dialog for the settings of a server."""

    def __init__(self, context: ServiceContext, publication: str, server: str, settings: ServerSettings) -> None:
        self._context, self._publication, self._server = context, publication, server
        with ui.dialog() as self._dialog, ui.card().classes("w-96"):
            ui.label(_("Settings of {name}", name=server)).props('role="heading" aria-level="2"').classes("text-lg")
            self._fields = {
                name: ui.number(_(label), value=getattr(settings, name)).classes("w-full").props(f'hint="{_(help)}"')
                for name, (label, help) in SETTING_LABELS.items()
            }
            self._excluded = ui.checkbox(_("Excluded"), value=bool(settings.excluded))
            self._only_publication = ui.checkbox(_("Only in {name}", name=publication), value=True)
            with ui.row():
                ui.button(_("Save"), on_click=self._save)
                ui.button(_("Cancel"), on_click=self._dialog.close).props("outline")

    def open(self) -> None:
        """Open the dialog."""
        self._dialog.open()

    async def _save(self) -> None:
        values: dict[str, Any] = {name: field.value for name, field in self._fields.items()}
        values["excluded"] = True if self._excluded.value else None
        publication = self._publication if self._only_publication.value else None
        with notify_errors():
            settings = await run_in_thread(servers.set_server, self._context, self._server, publication, **values)
            notify_done(f"{self._server}: {settings_text(settings) or '–'}")
            self._dialog.close()
