"""Accounts: who may log in, and what they may do."""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import accounts, tokens
from tarantula.services.accounts import AccountRow
from tarantula.services.context import ServiceContext
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import subheading
from tarantula.web.components.forms_part_dialogs import dialog, dialog_buttons, password_field, select_field, text_field
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.accounts_part_token_list import token_list

ROLE_LABELS = {
    Role.READER: mark("Reader: looks at everything but people"),
    Role.CURATOR: mark("Curator: describes publications, sees to items, decides about them"),
    Role.ADMINISTRATOR: mark("Administrator: sees to people, and removes what cannot be had again"),
}


@page("/people", mark("People"), needed=Role.ADMINISTRATOR)
def people_page(desk: ServiceContext) -> None:
    """Show every account, and every token."""
    heading(_("People"))
    rows = accounts.list_accounts(desk)
    if not rows:
        ui.label(_("There is no account yet. The first is an administrator's, and the printed link ends with it."))
    ui.button(_("New account"), icon="person_add", on_click=lambda: _new(desk, first=not rows)).classes("my-2")
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("role", _("Role")),
        TableColumn("created_at", _("Since")),
        TableColumn("disabled_at", _("Disabled since")),
        TableColumn("do", _("Change")),
    ]
    table = data_table(columns, [_row(row) for row in rows], _("People"), key="name")
    table.on("edit", lambda event: _edit(desk, event))
    table.on("remove", lambda event: _remove(desk, event))
    subheading(_("Tokens"))
    token_list(desk, tokens.list_tokens(desk), "/people")


def _row(account: AccountRow) -> dict[str, Any]:
    name = account.name
    return {
        "name": name,
        "role": _(account.role),
        "kept_role": account.role,
        "created_at": format_moment(account.created_at),
        "disabled_at": format_moment(account.disabled_at),
        "is_disabled": account.disabled_at is not None,
        "do": "",
        "do_buttons": [
            {"icon": "edit", "label": _("Edit"), "says": _("Edit {name}", name=name), "event": "edit"},
            {"icon": "delete", "label": _("Remove"), "says": _("Remove {name}", name=name), "event": "remove"},
        ],
    }


def _roles() -> dict[str, str]:
    return {str(role): _(words) for role, words in ROLE_LABELS.items()}


def _new(desk: ServiceContext, *, first: bool) -> None:
    async def store() -> None:
        with notify_errors():
            await run_in_thread(accounts.add_account, desk, name.value.strip(), Role(role.value), password.value)
            # Whoever came by the printed link logs in now.
            ui.navigate.to("/login" if first else "/people")

    with dialog(_("New account")) as shown:
        name = text_field(_("Name"))
        role = select_field(_("Role"), _roles(), Role.ADMINISTRATOR if first else Role.CURATOR)
        password = password_field(_("Password, of 10 letters or more"))
        dialog_buttons(shown, _("Save"), store)
    shown.open()


def _edit(desk: ServiceContext, event: events.GenericEventArguments) -> None:
    name, is_disabled = str(event.args["name"]), bool(event.args["is_disabled"])

    async def store() -> None:
        with notify_errors():
            await run_in_thread(
                accounts.edit_account,
                desk,
                name,
                role=Role(role.value),
                password=password.value or None,
                disabled=disabled.value if disabled.value != is_disabled else None,
            )
            shown.close()
            notify_done(_("{name} is stored.", name=name))
            ui.navigate.to("/people")

    with dialog(_("Account {name}", name=name)) as shown:
        role = select_field(_("Role"), _roles(), str(event.args["kept_role"]))
        password = password_field(_("Another password; empty leaves it"))
        disabled = ui.checkbox(_("Nobody can log in with it"), value=is_disabled)
        dialog_buttons(shown, _("Save"), store)
    shown.open()


def _remove(desk: ServiceContext, event: events.GenericEventArguments) -> None:
    name = str(event.args["name"])

    async def remove() -> None:
        with notify_errors():
            await run_in_thread(accounts.remove_account, desk, name)
            ui.navigate.to("/people")

    with dialog(_("Remove {name}?", name=name)) as shown:
        ui.label(_("Its sessions and tokens end. What it changed stays in the audit log."))
        dialog_buttons(shown, _("Remove"), remove, "delete")
    shown.open()
