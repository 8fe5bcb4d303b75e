"""The tokens of somebody, or of all: shown, made, removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import tokens
from tarantula.services.context import ServiceContext
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.forms_part_dialogs import dialog, dialog_buttons, select_field, text_field
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment
from tarantula.web.i18n import _

TOKEN_DAYS = {"30": "30", "365": "365", "": "∞"}


def token_list(desk: ServiceContext, rows: Sequence[TokenRow], back: str) -> None:
    """Show tokens, each with what removes it; *back* is the page to come back to."""
    columns = [
        TableColumn("account", _("Account")),
        TableColumn("name", _("What it is for")),
        TableColumn("role", _("Role")),
        TableColumn("created_at", _("Since")),
        TableColumn("expires_at", _("Until")),
        TableColumn("used_at", _("Last used")),
        TableColumn("do", _("Change")),
    ]
    table = data_table(columns, [_row(row) for row in rows], _("Tokens"), key="id")

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
        name = text_field(_("What it is for"))
        role = select_field(_("Role"), roles, Role.READER)
        days = select_field(_("Days that it lasts"), TOKEN_DAYS, "365")
        dialog_buttons(asked, _("Make"), make, "key")
    asked.open()


def _show(made: NewToken, back: str) -> None:
    with dialog(_("New token")) as shown:
        ui.label(_("Keep it now: it is shown this once."))
        ui.label(made.secret).classes("font-mono break-all select-all").props('data-testid="secret"')
        ui.button(_("Done"), on_click=lambda: ui.navigate.to(back))
    shown.props("persistent").open()


def _row(token: TokenRow) -> dict[str, Any]:
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
