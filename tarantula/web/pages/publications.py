"""Publication pages: the list, one publication, import and export."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import publications
from tarantula.services.context import ServiceContext
from tarantula.services.publications import PublicationRow
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, text_element
from tarantula.web.components.publication_form import FieldChoices, PublicationForm, ScopeTestBox, default_values
from tarantula.web.i18n import _, format_moment, mark
from tarantula.web.layout import heading, page

MAX_IMPORT_BYTES = 1_000_000


@page("/publications", mark("Publications"))
async def publications_page(context: ServiceContext) -> None:
    """Show all publications with their last and next collections."""
    heading(_("Publications"))
    may_change = context.person.role.allows(Role.CURATOR)
    if may_change:
        with ui.row().classes("mb-2"):
            ui.button(_("New publication"), icon="add", on_click=lambda: ui.navigate.to("/new-publication"))
            ui.button(_("Import"), icon="upload", on_click=lambda: _import_dialog(context).open()).props("outline")
            ui.button(_("Export all"), icon="download", on_click=lambda: download_toml(context, None)).props("outline")
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("base_url", _("Base document")),
        TableColumn("every", _("Frequency"), shown="often"),
        TableColumn("next", _("Next collection"), shown="next_shown"),
        TableColumn("last", _("Last collection"), shown="last_shown"),
        TableColumn("state", _("Last state")),
        TableColumn("items", _("Items"), number=True),
    ]
    if may_change:
        columns.append(TableColumn("do", _("Actions")))
    rows = [_row(row, may_change) for row in await run_in_thread(publications.list_publications, context)]
    table = data_table(columns, rows, _("Publications"), key="name")
    table.on("collect", lambda event: collect_now(context, event.args["name"]))


async def collect_now(context: ServiceContext, name: str) -> None:
    """Create an item and go to its page."""
    with notify_errors():
        urn = await run_in_thread(publications.collect_now, context, name)
        ui.navigate.to(f"/items/{quote(urn)}")


async def download_toml(context: ServiceContext, name: str | None) -> None:
    """Download publications as a TOML file."""
    with notify_errors():
        text = await run_in_thread(publications.export_toml, context, [name] if name else None)
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
        "next_shown": format_moment(row.next_due),
        "last": row.last_at.isoformat() if row.last_at else None,
        "last_shown": format_moment(row.last_at),
        "last_to": f"/items/{quote(row.last_urn)}" if row.last_urn else None,
        "state": _(row.last_state) if row.last_state else "–",
        "items": row.items,
        "do": "",
        "do_buttons": [button] if may_change else [],
    }


def _import_dialog(context: ServiceContext) -> ui.dialog:
    async def read_file(event: events.UploadEventArguments) -> None:
        text.value = (await event.file.read()).decode("utf-8", "replace")

    async def save() -> None:
        with notify_errors():
            names = await run_in_thread(publications.import_toml, context, text.value or "", replace.value)
            dialog.close()
            notify_done(_("Saved: {names}", names=", ".join(names)))
            ui.navigate.to("/publications")

    with ui.dialog() as dialog, ui.card().classes("w-full"):
        dialog.props["aria-label"] = _("Import")
        text_element("h2", _("Import publications"), "text-lg font-bold m-0")
        upload = ui.upload(
            label=_("A TOML file"), auto_upload=True, max_file_size=MAX_IMPORT_BYTES, on_upload=read_file
        )
        upload.props("accept=.toml flat bordered").classes("w-full")
        text = ui.textarea(_("Or paste TOML")).classes("w-full").props("outlined input-class=font-mono")
        replace = ui.checkbox(_("Also replace existing publications"))
        with ui.row():
            ui.button(_("Import"), on_click=save)
            ui.button(_("Cancel"), on_click=dialog.close).props("flat")
    return dialog


@page("/new-publication", mark("New publication"), role=Role.CURATOR)
async def new_publication_page(context: ServiceContext, like: str = "") -> None:
    """Show the form of a new publication, optionally a copy of another one."""
    heading(_("New publication"))
    values = default_values()
    if like:
        values = {**await run_in_thread(publications.get_publication, context, like), "name": ""}
    choices = await run_in_thread(FieldChoices.of, context)
    form = PublicationForm(context, values, None, choices, writable=True)

    async def insert() -> None:
        if await _is_valid(form):
            with notify_errors():
                fields = form.fields()
                name = str(fields.pop("name"))
                await run_in_thread(publications.add, context, name, fields)
                ui.navigate.to(f"/publications/{quote(name)}")

    with ui.row().classes("my-3"):
        ui.button(_("Create"), icon="save", on_click=insert)
        ui.button(_("Cancel"), on_click=lambda: ui.navigate.to("/publications")).props("flat")
    ScopeTestBox(context, form)


@page("/publications/{name}", mark("Publication"))
async def publication_page(context: ServiceContext, name: str) -> None:
    """Show a publication, editable for curators."""
    values = await run_in_thread(publications.get_publication, context, name)
    choices = await run_in_thread(FieldChoices.of, context)
    heading(name)
    may_change = context.person.role.allows(Role.CURATOR)
    with ui.row().classes("mb-2 items-center"):
        if may_change:
            _action_buttons(context, name)
        ui.link(_("Items"), f"/items?publication={quote(name)}").classes("p-2")
        ui.link(_("Reports"), f"/publications/{quote(name)}/reports").classes("p-2")
    form = PublicationForm(context, values, name, choices, writable=may_change)
    if may_change:
        ui.button(_("Save"), icon="save", on_click=lambda: _save(context, name, form)).classes("my-3")
    ScopeTestBox(context, form)


async def _save(context: ServiceContext, name: str, form: PublicationForm) -> None:
    if await _is_valid(form):
        with notify_errors():
            await run_in_thread(publications.edit, context, name, _without_name(form.fields()))
            notify_done(_("{name} is saved. Items that have started keep their settings.", name=name))


async def _is_valid(form: PublicationForm) -> bool:
    is_valid = await form.check(everything=True)
    if not is_valid:
        ui.notify(_("Some fields have errors."), color="red-10", text_color="white", icon="error")
    return is_valid


def _without_name(fields: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if field != "name"}


def _action_buttons(context: ServiceContext, name: str) -> None:
    ui.button(_("Collect now"), icon="play_arrow", on_click=lambda: collect_now(context, name))
    copy = f"/new-publication?like={quote(name)}"
    ui.button(_("Copy"), icon="content_copy", on_click=lambda: ui.navigate.to(copy)).props("outline")
    ui.button(_("Export"), icon="download", on_click=lambda: download_toml(context, name)).props("outline")
    ui.button(_("Remove"), icon="delete", on_click=lambda: _removal_dialog(context, name).open()).props(
        "outline color=red-10"
    )


def _removal_dialog(context: ServiceContext, name: str) -> ui.dialog:
    async def remove() -> None:
        dialog.close()
        with notify_errors():
            await run_in_thread(publications.remove, context, name)
            ui.navigate.to("/publications")

    with ui.dialog() as dialog, ui.card():
        dialog.props["aria-label"] = _("Remove")
        text_element("p", _("Remove the publication {name} permanently?", name=name))
        with ui.row():
            ui.button(_("Remove"), color="red-10", on_click=remove)
            ui.button(_("Cancel"), on_click=dialog.close).props("flat")
    return dialog
