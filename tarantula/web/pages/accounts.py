"""Account pages: password and tokens of the current account, and the administration of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.accounts.tokens import SCOPES
from tarantula.services import accounts, tokens
from tarantula.services.accounts import AccountRow
from tarantula.services.context import ServiceContext
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.auth import FACTORS_PAGE
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, subheading
from tarantula.web.components.forms import dialog, dialog_buttons, password_field, select_field, text_field
from tarantula.web.i18n import _, format_moment, mark
from tarantula.web.layout import heading, page

TOKEN_DAYS = (30, 90, 365)


def token_list(context: ServiceContext, rows: Sequence[TokenRow], back: str) -> None:
    """Show tokens with buttons to revoke them; *back* is the page to return to."""
    columns = [
        TableColumn("account", _("Account")),
        TableColumn("name", _("Purpose")),
        TableColumn("role", _("Role")),
        TableColumn("scopes", _("Scopes")),
        TableColumn("created_at", _("Created")),
        TableColumn("expires_at", _("Expires")),
        TableColumn("used_at", _("Last used")),
        TableColumn("do", _("Actions")),
    ]
    table = data_table(columns, [_token_row(row) for row in rows], _("Tokens"), key="id")

    async def remove(event: events.GenericEventArguments) -> None:
        with notify_errors():
            await run_in_thread(tokens.remove_token, context, int(event.args["id"]))
            ui.navigate.to(back)

    table.on("remove", remove)


def new_token_dialog(context: ServiceContext, back: str) -> None:
    """Ask for the purpose of a token, create it, and show its secret once."""
    roles = {str(role): _(role) for role in Role if context.person.role.allows(role)}
    default = context.installation.token_days

    async def create() -> None:
        with notify_errors():
            created = await run_in_thread(
                tokens.add_token, context, name.value, Role(role.value), int(days.value), scopes=scopes.value
            )
            prompt.close()
            _show_secret(created, back)

    with dialog(_("New token")) as prompt:
        name = text_field(_("Purpose"))
        role = select_field(_("Role"), roles, Role.READER)
        choices = {str(number): str(number) for number in sorted({*TOKEN_DAYS, default} - {0})}
        days = select_field(_("Valid for (days)"), {**choices, "0": "∞"}, str(default))
        scopes = ui.select(list(SCOPES), label=_("Scopes (all if empty)"), value=[], multiple=True)
        scopes.classes("w-full").props("outlined dense")
        dialog_buttons(prompt, _("Create"), create, "key")
    prompt.open()


def _show_secret(created: NewToken, back: str) -> None:
    with dialog(_("New token")) as prompt:
        ui.label(_("Copy it now: it is not shown again."))
        ui.label(created.secret).classes("font-mono break-all select-all").props('data-testid="secret"')
        ui.button(_("Done"), on_click=lambda: ui.navigate.to(back))
    prompt.props("persistent").open()


def _token_row(token: TokenRow) -> dict[str, Any]:
    says = _("Remove {name}", name=token.name)
    return {
        "id": token.id,
        "account": token.account,
        "name": token.name,
        "role": _(token.role),
        "scopes": ", ".join(token.scopes) if token.scopes else _("all"),
        "created_at": format_moment(token.created_at),
        "expires_at": format_moment(token.expires_at),
        "used_at": format_moment(token.used_at),
        "do": "",
        "do_buttons": [{"icon": "delete", "label": _("Remove"), "says": says, "event": "remove"}],
    }


@page("/account", mark("Your account"))
async def account_page(context: ServiceContext) -> None:
    """Show the page of the current account."""
    heading(_("Your account"))
    ui.label(f"{context.person.name} · {_(context.person.role)}")
    if context.person.account_id is None:
        ui.label(_("You used the printed link and have no account. Create one under People."))
        return
    subheading(_("Password"))
    if await run_in_thread(accounts.has_password, context):
        _password(context)
        subheading(_("Second factors"))
        ui.label(_("A second factor is asked for after your password. Tokens do not need one."))
        ui.link(_("Authenticator app, security keys and recovery codes"), FACTORS_PAGE)
    else:
        ui.label(_("This account has no password: the provider of the logins has it."))
    subheading(_("Tokens"))
    ui.label(_("Programs use a token instead of your password."))
    ui.button(_("New token"), icon="key", on_click=lambda: new_token_dialog(context, "/account")).classes("my-2")
    rows = await run_in_thread(tokens.list_tokens, context)
    token_list(context, [row for row in rows if row.account == context.person.name], "/account")


def _password(context: ServiceContext) -> None:
    async def change() -> None:
        with notify_errors():
            await run_in_thread(accounts.change_password, context, old.value, new.value)
            old.value = new.value = ""
            notify_done(_("The password is changed. Other sessions have ended, and your tokens are revoked."))

    with ui.column().classes("w-full max-w-sm"):
        old = password_field(_("Current password"), "current-password")
        new = password_field(_("New password (at least 10 characters)"))
        ui.button(_("Change the password"), icon="lock", on_click=change)


ROLE_LABELS = {
    Role.READER: mark("Reader: sees everything except accounts"),
    Role.CURATOR: mark("Curator: manages publications and items, accepts and rejects items"),
    Role.ADMINISTRATOR: mark("Administrator: manages accounts, and removes items"),
}


@page("/people", mark("People"), role=Role.ADMINISTRATOR)
async def people_page(context: ServiceContext) -> None:
    """Show all accounts and tokens."""
    heading(_("People"))
    rows = await run_in_thread(accounts.list_accounts, context)
    if not rows:
        ui.label(
            _("There is no account yet. The first one is an administrator and ends the session of the printed link.")
        )
    ui.button(
        _("New account"), icon="person_add", on_click=lambda: _new_account_dialog(context, first=not rows)
    ).classes("my-2")
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("role", _("Role")),
        TableColumn("created_at", _("Created")),
        TableColumn("disabled_at", _("Disabled since")),
        TableColumn("factors", _("Second factors")),
        TableColumn("do", _("Actions")),
    ]
    table = data_table(columns, [_row(row) for row in rows], _("People"), key="name")
    table.on("edit", lambda event: _edit_dialog(context, event))
    table.on("reset", lambda event: _reset_dialog(context, str(event.args["name"])))
    table.on("remove", lambda event: _removal_dialog(context, event, [row.name for row in rows]))
    subheading(_("Tokens"))
    token_list(context, await run_in_thread(tokens.list_tokens, context), "/people")


def _row(account: AccountRow) -> dict[str, Any]:
    name = account.name
    return {
        "name": name,
        "role": _(account.role),
        "kept_role": account.role,
        "created_at": format_moment(account.created_at),
        "disabled_at": format_moment(account.disabled_at),
        "is_disabled": account.disabled_at is not None,
        "factors": ", ".join(_(FACTOR_LABELS[kind]) for kind in account.second_factors),
        "do": "",
        "do_buttons": [
            {"icon": "edit", "label": _("Edit"), "says": _("Edit {name}", name=name), "event": "edit"},
            *([_reset_button(name)] if account.second_factors else []),
            {"icon": "delete", "label": _("Remove"), "says": _("Remove {name}", name=name), "event": "remove"},
        ],
    }


FACTOR_LABELS = {"totp": mark("app"), "key": mark("security key")}


def _reset_button(name: str) -> dict[str, str]:
    says = _("Remove the second factors of {name}", name=name)
    return {"icon": "lock_reset", "label": _("Remove second factors"), "says": says, "event": "reset"}


def _reset_dialog(context: ServiceContext, name: str) -> None:
    async def reset() -> None:
        with notify_errors():
            await run_in_thread(accounts.reset_factors, context, name)
            ui.navigate.to("/people")

    with dialog(_("Remove the second factors of {name}", name=name)) as prompt:
        ui.label(
            _("For a person who has lost them. The sessions of the account end; the password alone is enough then.")
        )
        dialog_buttons(prompt, _("Remove"), reset, "lock_reset")
    prompt.open()


def _roles() -> dict[str, str]:
    return {str(role): _(label) for role, label in ROLE_LABELS.items()}


def _new_account_dialog(context: ServiceContext, *, first: bool) -> None:
    async def save() -> None:
        with notify_errors():
            await run_in_thread(accounts.add_account, context, name.value.strip(), Role(role.value), password.value)
            # The session of the printed link has ended: log in with the new account.
            ui.navigate.to("/login" if first else "/people")

    with dialog(_("New account")) as prompt:
        name = text_field(_("Name"))
        role = select_field(_("Role"), _roles(), Role.ADMINISTRATOR if first else Role.CURATOR)
        password = password_field(_("Password (at least 10 characters)"))
        dialog_buttons(prompt, _("Save"), save)
    prompt.open()


def _edit_dialog(context: ServiceContext, event: events.GenericEventArguments) -> None:
    name, is_disabled = str(event.args["name"]), bool(event.args["is_disabled"])

    async def save() -> None:
        with notify_errors():
            await run_in_thread(
                accounts.edit_account,
                context,
                name,
                role=Role(role.value),
                password=password.value or None,
                disabled=disabled.value if disabled.value != is_disabled else None,
            )
            prompt.close()
            notify_done(_("{name} is saved.", name=name))
            ui.navigate.to("/people")

    with dialog(_("Account {name}", name=name)) as prompt:
        role = select_field(_("Role"), _roles(), str(event.args["kept_role"]))
        password = password_field(_("New password (empty keeps the current one)"))
        disabled = ui.checkbox(_("Disabled (no login)"), value=is_disabled)
        dialog_buttons(prompt, _("Save"), save)
    prompt.open()


def _removal_dialog(context: ServiceContext, event: events.GenericEventArguments, names: Sequence[str]) -> None:
    name = str(event.args["name"])
    heirs = {"": _("No account"), **{other: other for other in names if other != name}}

    async def remove() -> None:
        with notify_errors():
            await run_in_thread(accounts.remove_account, context, name, heir.value or None)
            ui.navigate.to("/people")

    with dialog(_("Remove {name}?", name=name)) as prompt:
        ui.label(_("Its sessions and tokens end. Its changes stay in the audit log."))
        heir = select_field(_("Account that gets its sources, views and alerts"), heirs, "")
        ui.label(_("Without an account to go to, they are deleted, except public sources.")).classes("text-sm")
        dialog_buttons(prompt, _("Remove"), remove, "delete")
    prompt.open()
