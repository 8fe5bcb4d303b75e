"""Account pages: one"s own password and tokens, and the administration of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import accounts, tokens
from tarantula.services.accounts import AccountRow
from tarantula.services.context import ServiceContext
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import subheading
from tarantula.web.components.forms import dialog, dialog_buttons, password_field, select_field, text_field
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format import format_moment
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page

TOKEN_DAYS = {"30": "30", "365": "365", "": "∞"}


def token_list(desk: ServiceContext, rows: Sequence[TokenRow], back: str) -> None:
    """Show tokens, each with what removes it; *back* is the page to come back to."""
    columns = [
        TableColumn("account", _("Account")),
        TableColumn("name", _("Purpose")),
        TableColumn("role", _("Role")),
        TableColumn("created_at", _("Created")),
        TableColumn("expires_at", _("Expires")),
        TableColumn("used_at", _("Last used")),
        TableColumn("do", _("Actions")),
    ]
    table = data_table(columns, [_token_list_row(row) for row in rows], _("Tokens"), key="id")

    async def remove(event: events.GenericEventArguments) -> None:
        with notify_errors():
            await run_in_thread(tokens.remove_token, desk, int(event.args["id"]))
            ui.navigate.to(back)

    table.on("remove", remove)


def new_token_dialog(desk: ServiceContext, back: str) -> None:
    """Ask what a token is for, make it, and show it this once."""
    roles = {str(role): _(role) for role in Role if desk.person.role.allows(role)}

    async def make() -> None:
        with notify_errors():
            lasts = int(days.value) if days.value else None
            made = await run_in_thread(tokens.add_token, desk, name.value, Role(role.value), lasts)
            asked.close()
            _show(made, back)

    with dialog(_("New token")) as asked:
        name = text_field(_("Purpose"))
        role = select_field(_("Role"), roles, Role.READER)
        days = select_field(_("Valid for (days)"), TOKEN_DAYS, "365")
        dialog_buttons(asked, _("Create"), make, "key")
    asked.open()


def _show(made: NewToken, back: str) -> None:
    with dialog(_("New token")) as shown:
        ui.label(_("Copy it now: it is not shown again."))
        ui.label(made.secret).classes("font-mono break-all select-all").props('data-testid="secret"')
        ui.button(_("Done"), on_click=lambda: ui.navigate.to(back))
    shown.props("persistent").open()


def _token_list_row(token: TokenRow) -> dict[str, Any]:
    says = _("Remove {name}", name=token.name)
    return {
        "id": token.id,
        "account": token.account,
        "name": token.name,
        "role": _(token.role),
        "created_at": format_moment(token.created_at),
        "expires_at": format_moment(token.expires_at),
        "used_at": format_moment(token.used_at),
        "do": "",
        "do_buttons": [{"icon": "delete", "label": _("Remove"), "says": says, "event": "remove"}],
    }


@page("/account", mark("Your account"))
def account_page(desk: ServiceContext) -> None:
    """Show what somebody can do about themselves."""
    heading(_("Your account"))
    ui.label(f"{desk.person.name} · {_(desk.person.role)}")
    if desk.person.account_id is None:
        ui.label(_("You used the printed link and have no account. Create one under People."))
        return
    subheading(_("Password"))
    _password(desk)
    subheading(_("Tokens"))
    ui.label(_("Programs use a token instead of your password."))
    ui.button(_("New token"), icon="key", on_click=lambda: new_token_dialog(desk, "/account")).classes("my-2")
    own = [row for row in tokens.list_tokens(desk) if row.account == desk.person.name]
    token_list(desk, own, "/account")


def _password(desk: ServiceContext) -> None:
    async def change() -> None:
        with notify_errors():
            await run_in_thread(accounts.change_password, desk, old.value, new.value)
            old.value = new.value = ""
            notify_done(_("The password is changed, and sessions in other browsers have ended."))

    with ui.column().classes("w-full max-w-sm"):
        old = password_field(_("Current password"), "current-password")
        new = password_field(_("New password (at least 10 characters)"))
        ui.button(_("Change the password"), icon="lock", on_click=change)


ROLE_LABELS = {
    Role.READER: mark("Reader: sees everything except accounts"),
    Role.CURATOR: mark("Curator: manages publications and items, accepts and rejects items"),
    Role.ADMINISTRATOR: mark("Administrator: manages accounts, and removes items"),
}


@page("/people", mark("People"), needed=Role.ADMINISTRATOR)
def people_page(desk: ServiceContext) -> None:
    """Show every account, and every token."""
    heading(_("People"))
    rows = accounts.list_accounts(desk)
    if not rows:
        ui.label(
            _("There is no account yet. The first one is an administrator and ends the session of the printed link.")
        )
    ui.button(_("New account"), icon="person_add", on_click=lambda: _new(desk, first=not rows)).classes("my-2")
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("role", _("Role")),
        TableColumn("created_at", _("Created")),
        TableColumn("disabled_at", _("Disabled since")),
        TableColumn("do", _("Actions")),
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
        password = password_field(_("Password (at least 10 characters)"))
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
            notify_done(_("{name} is saved.", name=name))
            ui.navigate.to("/people")

    with dialog(_("Account {name}", name=name)) as shown:
        role = select_field(_("Role"), _roles(), str(event.args["kept_role"]))
        password = password_field(_("New password (empty keeps the current one)"))
        disabled = ui.checkbox(_("Disabled (no login)"), value=is_disabled)
        dialog_buttons(shown, _("Save"), store)
    shown.open()


def _remove(desk: ServiceContext, event: events.GenericEventArguments) -> None:
    name = str(event.args["name"])

    async def remove() -> None:
        with notify_errors():
            await run_in_thread(accounts.remove_account, desk, name)
            ui.navigate.to("/people")

    with dialog(_("Remove {name}?", name=name)) as shown:
        ui.label(_("Its sessions and tokens end. Its changes stay in the audit log."))
        dialog_buttons(shown, _("Remove"), remove, "delete")
    shown.open()
