"""The tokens of somebody, or of all: shown, made, removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import tokens
from tarantula.services.context import Desk
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.components.background import away, told
from tarantula.web.components.forms_part_dialogs import buttons, choice, dialog, line
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment
from tarantula.web.i18n import _

DAYS = {"30": "30", "365": "365", "": "∞"}


def token_list(desk: Desk, rows: Sequence[TokenRow], back: str) -> None:
    """Show tokens, each with what removes it; *back* is the page to come back to."""
    columns = [
        Column("account", _("Account")),
        Column("name", _("What it is for")),
        Column("role", _("Role")),
        Column("created_at", _("Since")),
        Column("expires_at", _("Until")),
        Column("used_at", _("Last used")),
        Column("do", _("Change")),
    ]
    table = listing(columns, [_row(row) for row in rows], _("Tokens"), key="id")

    async def remove(event: events.GenericEventArguments) -> None:
        with told():
            await away(tokens.remove_token, desk, int(event.args["id"]))
            ui.navigate.to(back)

    table.on("remove", remove)


def new_token(desk: Desk, back: str) -> None:
    """Ask what a token is for, make it, and show it this once."""
    roles = {str(role): _(role) for role in Role if desk.person.role.allows(role)}

    async def make() -> None:
        with told():
            lasts = int(days.value) if days.value else None
            made = await away(tokens.new_token, desk, name.value, Role(role.value), lasts)
            asked.close()
            _show(made, back)

    with dialog(_("New token")) as asked:
        name = line(_("What it is for"))
        role = choice(_("Role"), roles, Role.READER)
        days = choice(_("Days that it lasts"), DAYS, "365")
        buttons(asked, _("Make"), make, "key")
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
        "created_at": moment(token.created_at),
        "expires_at": moment(token.expires_at),
        "used_at": moment(token.used_at),
        "do": "",
        "do_buttons": [{"icon": "delete", "label": _("Remove"), "says": says, "event": "remove"}],
    }
