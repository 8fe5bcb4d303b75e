"""One publication: its form, and what is done with it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services import publications
from tarantula.services.context import ServiceContext
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.publication_form import default_values
from tarantula.web.components.publication_form_part_form import PublicationForm
from tarantula.web.components.publication_form_part_trying import ScopeTestBox
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.publications import collect_now, download_toml


@page("/new-publication", mark("New publication"), needed=Role.CURATOR)
def new_publication_page(desk: ServiceContext, like: str = "") -> None:
    """Show an empty form, or one that is filled in like another publication."""
    heading(_("New publication"))
    values = {**publications.get_publication(desk, like), "name": ""} if like else default_values()
    form = PublicationForm(desk, values, None, writable=True)

    async def insert() -> None:
        if await _is_right(form):
            with notify_errors():
                fields = form.fields()
                name = str(fields.pop("name"))
                await run_in_thread(publications.add, desk, name, fields)
                ui.navigate.to(f"/publications/{quote(name)}")

    with ui.row().classes("my-3"):
        ui.button(_("Insert"), icon="save", on_click=insert)
        ui.button(_("Cancel"), on_click=lambda: ui.navigate.to("/publications")).props("flat")
    ScopeTestBox(desk, form)


@page("/publications/{name}", mark("Publication"))
def publication_page(desk: ServiceContext, name: str) -> None:
    """Show a publication, to be looked at or changed."""
    values = publications.get_publication(desk, name)
    heading(name)
    may_change = desk.person.role.allows(Role.CURATOR)
    with ui.row().classes("mb-2 items-center"):
        if may_change:
            _actions(desk, name)
        ui.link(_("Items"), f"/items?publication={quote(name)}").classes("p-2")
        ui.link(_("Reports"), f"/publications/{quote(name)}/reports").classes("p-2")
    form = PublicationForm(desk, values, name, writable=may_change)
    if may_change:
        ui.button(_("Save"), icon="save", on_click=lambda: _save(desk, name, form)).classes("my-3")
    ScopeTestBox(desk, form)


async def _save(desk: ServiceContext, name: str, form: PublicationForm) -> None:
    if await _is_right(form):
        with notify_errors():
            await run_in_thread(publications.edit, desk, name, _without_name(form.fields()))
            notify_done(_("{name} is changed. Items that were begun keep what they began with.", name=name))


async def _is_right(form: PublicationForm) -> bool:
    right = await form.check(everything=True)
    if not right:
        ui.notify(_("Some fields are not right yet."), color="red-10", text_color="white", icon="error")
    return right


def _without_name(fields: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if field != "name"}


def _actions(desk: ServiceContext, name: str) -> None:
    ui.button(_("Collect now"), icon="play_arrow", on_click=lambda: collect_now(desk, name))
    copy = f"/new-publication?like={quote(name)}"
    ui.button(_("Copy"), icon="content_copy", on_click=lambda: ui.navigate.to(copy)).props("outline")
    ui.button(_("Export"), icon="download", on_click=lambda: download_toml(desk, name)).props("outline")
    ui.button(_("Remove"), icon="delete", on_click=lambda: _removal(desk, name).open()).props("outline color=red-10")


def _removal(desk: ServiceContext, name: str) -> ui.dialog:
    async def remove() -> None:
        dialog.close()
        with notify_errors():
            await run_in_thread(publications.remove, desk, name)
            ui.navigate.to("/publications")

    with ui.dialog() as dialog, ui.card():
        dialog.props["aria-label"] = _("Remove")
        text_element("p", _("Forget the publication {name} for good?", name=name))
        with ui.row():
            ui.button(_("Remove"), color="red-10", on_click=remove)
            ui.button(_("Cancel"), on_click=dialog.close).props("flat")
    return dialog
