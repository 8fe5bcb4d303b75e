"""One's own account: another password, tokens for one's programs."""

from __future__ import annotations

from nicegui import ui

from tarantula.services import accounts, tokens
from tarantula.services.context import ServiceContext
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import subheading
from tarantula.web.components.forms_part_dialogs import password_field
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.accounts_part_token_list import new_token_dialog, token_list


@page("/account", mark("Your account"))
def account_page(desk: ServiceContext) -> None:
    """Show what somebody can do about themselves."""
    heading(_("Your account"))
    ui.label(f"{desk.person.name} · {_(desk.person.role)}")
    if desk.person.account_id is None:
        ui.label(_("You came by the printed link, and have no account. Make one under People."))
        return
    subheading(_("Password"))
    _password(desk)
    subheading(_("Tokens"))
    ui.label(_("A program shows a token in the place of your password."))
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
        old = password_field(_("Present password"), "current-password")
        new = password_field(_("New password, of 10 letters or more"))
        ui.button(_("Change the password"), icon="lock", on_click=change)
