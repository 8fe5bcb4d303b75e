"""The audit log page."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services import accounts
from tarantula.services.accounts import AuditRow
from tarantula.services.context import ServiceContext
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table
from tarantula.web.components.forms import text_field
from tarantula.web.i18n import _, format_moment, mark
from tarantula.web.layout import heading, page
from tarantula.web.limits import SLOW, run_in_pool

ROWS_PER_PAGE = 100


@page("/audit", mark("Audit log"), role=Role.ADMINISTRATOR)
async def audit_page(context: ServiceContext, who: str = "", subject: str = "", before: str | None = None) -> None:
    """Show the audit log, newest first, optionally of one account or subject."""
    heading(_("Audit log"))
    _filters(who, subject)
    _verification(context)
    found = await run_in_thread(accounts.list_audit, context, ROWS_PER_PAGE, before, who, subject)
    columns = [
        TableColumn("at", _("When")),
        TableColumn("who", _("Account")),
        TableColumn("action", _("Action")),
        TableColumn("subject", _("Subject")),
        TableColumn("detail", _("Details")),
    ]
    data_table(columns, [_row(row) for row in found.rows], _("Audit log"), key="id", search=False)
    with ui.row().classes("mt-2"):
        if before is not None:
            ui.link(_("Latest"), _address(who, subject, None))
        if found.next is not None:
            ui.link(_("Older"), _address(who, subject, found.next))


def _filters(who: str, subject: str) -> None:
    def apply_filters() -> None:
        ui.navigate.to(_address(by.value or "", to.value or "", None))

    with ui.row().classes("items-center"):
        by = text_field(_("Account"), who).on("keydown.enter", apply_filters).classes("sm:w-48")
        to = text_field(_("Subject"), subject).on("keydown.enter", apply_filters).classes("sm:w-64")
        ui.button(_("Filter"), icon="search", on_click=apply_filters)


def _verification(context: ServiceContext) -> None:
    async def verify() -> None:
        with notify_errors():
            found = await run_in_pool(SLOW, accounts.verify_audit, context)
            result.text = _(found.problem) if found.problem else _("The log is whole. Head: {head}", head=found.head)

    with ui.row().classes("items-center"):
        ui.button(_("Verify the log"), icon="link", on_click=verify).props("flat")
        result = ui.label().classes("break-all").props('role="status"')


def _address(who: str, subject: str, before: str | None) -> str:
    query = {key: value for key, value in (("who", who), ("subject", subject), ("before", before)) if value}
    return f"/audit?{urlencode(query)}" if query else "/audit"


def _row(entry: AuditRow) -> dict[str, object]:
    return {
        "id": entry.id,
        "at": format_moment(entry.at),
        "who": entry.who,
        "action": entry.action,
        "subject": entry.subject,
        "detail": json.dumps(entry.detail, ensure_ascii=False) if entry.detail else "",
    }
