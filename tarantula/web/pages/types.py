"""Document types and profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.publications.fields import split_words
from tarantula.services import document_types
from tarantula.services.context import ServiceContext
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page

LIST_SEPARATOR = "; "


@page("/types", mark("Types and profiles"))
async def types_page(context: ServiceContext) -> None:
    """Show all profiles and types, with dialogs to add and change them."""
    heading(_("Types and profiles"))
    may_change = context.person.role.allows(Role.CURATOR)
    subheading(_("Profiles"))
    if may_change:
        ui.button(_("New profile"), icon="add", on_click=lambda: _open_profile(context, None)).classes("mb-2")
    await _profiles(context, may_change)
    subheading(_("Document types"))
    if may_change:
        ui.button(_("New type"), icon="add", on_click=lambda: _type_dialog(context, None).open()).classes("mb-2")
    await _types(context, may_change)


async def _profiles(context: ServiceContext, may_change: bool) -> None:
    rows = [
        {**row.model_dump(), "types": LIST_SEPARATOR.join(row.types), **_edit(row.name, may_change)}
        for row in await run_in_thread(document_types.list_profiles, context)
    ]
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("description", _("Description")),
        TableColumn("types", _("Types")),
    ]
    table = data_table(_with_edit(columns, may_change), rows, _("Profiles"), key="name", search=False)
    table.on("edit", lambda event: _open_profile(context, event.args))


async def _types(context: ServiceContext, may_change: bool) -> None:
    rows = [
        {**row.model_dump(), "extensions": LIST_SEPARATOR.join(row.extensions), **_edit(row.mime, may_change)}
        for row in await run_in_thread(document_types.list_types, context)
    ]
    columns = [
        TableColumn("mime", _("Type")),
        TableColumn("extensions", _("Extensions")),
        TableColumn("description", _("Description")),
    ]
    table = data_table(_with_edit(columns, may_change), rows, _("Document types"), key="mime")
    table.on("edit", lambda event: _type_dialog(context, event.args).open())


def _with_edit(columns: list[TableColumn], may_change: bool) -> list[TableColumn]:
    return [*columns, TableColumn("do", _("Actions"))] if may_change else columns


def _edit(name: str, may_change: bool) -> dict[str, Any]:
    button = {"icon": "edit", "label": _("Edit"), "says": _("Edit {name}", name=name), "event": "edit"}
    return {"do": "", "do_buttons": [button] if may_change else []}


async def _open_profile(context: ServiceContext, row: dict[str, Any] | None) -> None:
    with notify_errors():
        types = await run_in_thread(document_types.list_types, context)
        _profile_dialog(context, row, [one.mime for one in types]).open()


def _profile_dialog(context: ServiceContext, row: dict[str, Any] | None, known: list[str]) -> ui.dialog:
    kinds = sorted({f"{mime.partition('/')[0]}/*" for mime in known})
    chosen = split_words(row["types"]) if row else []

    async def save() -> None:
        call = document_types.edit_profile if row else document_types.add_profile
        with notify_errors():
            await run_in_thread(call, context, name.value.strip(), mimes.value, description.value)
            _saved(dialog, name.value)

    with _dialog(_("Profile")) as dialog, ui.card().classes("w-full"):
        text_element("h2", _("Profile"), "text-lg font-bold m-0")
        name = _text_line(_("Name"), row["name"] if row else "", fixed=row is not None)
        description = _text_line(_("Description"), row["description"] if row else "")
        options = list(dict.fromkeys(["*/*", *kinds, *known, *chosen]))
        mimes = ui.select(options, label=_("Types"), value=chosen, multiple=True, new_value_mode="add-unique")
        mimes.classes("w-full").props("outlined dense use-chips")
        _buttons(dialog, save)
    return dialog


def _type_dialog(context: ServiceContext, row: dict[str, Any] | None) -> ui.dialog:
    async def save() -> None:
        call = document_types.edit_type if row else document_types.add_type
        with notify_errors():
            await run_in_thread(call, context, mime.value.strip(), split_words(extensions.value), description.value)
            _saved(dialog, mime.value)

    with _dialog(_("Document type")) as dialog, ui.card().classes("w-full"):
        text_element("h2", _("Document type"), "text-lg font-bold m-0")
        mime = _text_line(_("Type, such as application/pdf"), row["mime"] if row else "", fixed=row is not None)
        extensions = _text_line(_("Extensions, such as ps; eps"), row["extensions"] if row else "")
        description = _text_line(_("Description"), row["description"] if row else "")
        _buttons(dialog, save)
    return dialog


def _dialog(name: str) -> ui.dialog:
    dialog = ui.dialog()
    dialog.props["aria-label"] = name
    return dialog


def _text_line(label: str, value: str, *, fixed: bool = False) -> ui.input:
    line = ui.input(label, value=value).classes("w-full").props("outlined dense")
    return line.props("readonly") if fixed else line


def _buttons(dialog: ui.dialog, save: Callable[[], Any]) -> None:
    with ui.row():
        ui.button(_("Save"), icon="save", on_click=save)
        ui.button(_("Cancel"), on_click=dialog.close).props("flat")


def _saved(dialog: ui.dialog, name: str) -> None:
    dialog.close()
    notify_done(_("{name} is saved.", name=name))
    ui.navigate.to("/types")
