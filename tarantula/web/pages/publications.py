"""Every publication, and what is done to many of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import publications
from tarantula.services.context import Desk
from tarantula.services.publications_part_publication_rows import PublicationRow
from tarantula.web.components.background import away, say, told
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page

LARGEST_FILE = 1_000_000


@page("/publications", mark("Publications"))
def all_publications(desk: Desk) -> None:
    """Show them, with the last and the next collection of each."""
    heading(_("Publications"))
    may_change = desk.person.role.allows(Role.CURATOR)
    if may_change:
        with ui.row().classes("mb-2"):
            ui.button(_("New publication"), icon="add", on_click=lambda: ui.navigate.to("/new-publication"))
            ui.button(_("Import"), icon="upload", on_click=lambda: _import_dialog(desk).open()).props("outline")
            ui.button(_("Export all"), icon="download", on_click=lambda: download(desk, None)).props("outline")
    columns = [
        Column("name", _("Name")),
        Column("base_url", _("Base document")),
        Column("every", _("How often"), shown="often"),
        Column("next", _("Next collection"), shown="next_shown"),
        Column("last", _("Last collection"), shown="last_shown"),
        Column("state", _("Last state")),
        Column("items", _("Items"), number=True),
    ]
    if may_change:
        columns.append(Column("do", _("Collect")))
    rows = [_row(row, may_change) for row in publications.listed(desk)]
    table = listing(columns, rows, _("Publications"), key="name")
    table.on("collect", lambda event: collect(desk, event.args["name"]))


async def collect(desk: Desk, name: str) -> None:
    """Begin an item, and go to see it."""
    with told():
        urn = await away(publications.collect_now, desk, name)
        ui.navigate.to(f"/items/{quote(urn)}")


async def download(desk: Desk, name: str | None) -> None:
    """Hand publications over as a file."""
    with told():
        text = await away(publications.exported, desk, [name] if name else None)
        ui.download.content(text.encode(), f"{name or 'publications'}.toml", "application/toml")


def _row(row: PublicationRow, may_change: bool) -> dict[str, Any]:
    button = {
        "icon": "play_arrow",
        "label": _("Collect now"),
        "says": _("Collect {name} now", name=row.name),
        "event": "collect",
    }
    return {
        "name": row.name,
        "name_to": f"/publications/{quote(row.name)}",
        "base_url": row.base_url,
        "every": row.every,
        "often": _(row.every),
        "next": row.next_due.isoformat() if row.next_due else None,
        "next_shown": moment(row.next_due),
        "last": row.last_at.isoformat() if row.last_at else None,
        "last_shown": moment(row.last_at),
        "last_to": f"/items/{quote(row.last_urn)}" if row.last_urn else None,
        "state": _(row.last_state) if row.last_state else "–",
        "items": row.items,
        "do": "",
        "do_buttons": [button] if may_change else [],
    }


def _import_dialog(desk: Desk) -> ui.dialog:
    async def read_file(event: events.UploadEventArguments) -> None:
        text.value = (await event.file.read()).decode("utf-8", "replace")

    async def store() -> None:
        with told():
            names = await away(publications.imported, desk, text.value or "", replace.value)
            dialog.close()
            say(_("Stored: {names}", names=", ".join(names)))
            ui.navigate.to("/publications")

    with ui.dialog() as dialog, ui.card().classes("w-full"):
        dialog.props["aria-label"] = _("Import")
        tagged("h2", _("Import publications"), "text-lg font-bold m-0")
        upload = ui.upload(label=_("A TOML file"), auto_upload=True, max_file_size=LARGEST_FILE, on_upload=read_file)
        upload.props("accept=.toml flat bordered").classes("w-full")
        text = ui.textarea(_("Or its text")).classes("w-full").props("outlined input-class=font-mono")
        replace = ui.checkbox(_("Also change publications that are there"))
        with ui.row():
            ui.button(_("Import"), on_click=store)
            ui.button(_("Cancel"), on_click=dialog.close).props("flat")
    return dialog
