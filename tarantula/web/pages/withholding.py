"""Withheld URLs: list them, withhold others, and release them."""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from tarantula.accounts.roles import Role
from tarantula.services import withholding
from tarantula.services.context import ServiceContext
from tarantula.services.withholding import WithholdingRow
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread, show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table, text_element
from tarantula.web.i18n import _, format_moment, format_number, mark
from tarantula.web.layout import heading, page


@page("/withholding", mark("Withheld URLs"), Role.CURATOR)
def withholding_page(context: ServiceContext) -> None:
    """Show the withheld URLs, with a form to withhold others."""
    heading(_("Withheld URLs"))
    text_element(
        "p", _("A withheld URL is not shown, found or exported, in any item. Its bytes stay in the WARC files.")
    )
    may_change = context.person.role.allows(Role.ADMINISTRATOR)
    if may_change:
        _form(context)
    show_when_loaded(
        lambda: withholding.list_withholdings(context, lifted=True), lambda rows: _show(context, rows, may_change)
    )


def _form(context: ServiceContext) -> None:
    async def save() -> None:
        with notify_errors():
            urls = url.value.split()
            made = await run_in_thread(withholding.withhold, context, urls, why.value, until.value)
            for path in [path for one in made for path in one.exports]:
                notify_done(_("The export {path} was written before and has it, or cannot be checked.", path=path))
            ui.navigate.to("/withholding")

    with ui.row().classes("items-end w-full"):
        url = ui.input(_("URLs, separated by spaces")).classes("w-96").props("outlined dense")
        why = ui.input(_("Reason")).classes("w-72").props("outlined dense")
        until = ui.input(_("End of the embargo; empty: until it is released")).classes("w-72").props("outlined dense")
        ui.button(_("Withhold"), icon="visibility_off", on_click=save)


def _show(context: ServiceContext, rows: list[WithholdingRow], may_change: bool) -> None:
    columns = [
        TableColumn("url", _("URL")),
        TableColumn("state", _("State")),
        TableColumn("at", _("Since")),
        TableColumn("until", _("Until")),
        TableColumn("by", _("By")),
        TableColumn("why", _("Reason")),
        TableColumn("items", _("Items"), number=True),
        *([TableColumn("do", _("Actions"))] if may_change else []),
    ]
    shown = [_cells(number, row, may_change) for number, row in enumerate(rows)]
    table = data_table(columns, shown, _("Withheld URLs"), key="number")
    table.on("release", lambda event: _release(context, event))


def _cells(number: int, row: WithholdingRow, may_change: bool) -> dict[str, Any]:
    button = {"icon": "visibility", "label": _("Release"), "says": _("Release {url}", url=row.url), "event": "release"}
    return {
        "number": number,
        "url": row.url,
        "state": _("withheld") if row.in_force else _("released"),
        "at": format_moment(row.at),
        "until": format_moment(row.until or row.lifted_at) if row.until or row.lifted_at else "",
        "by": row.by,
        "why": row.why,
        "items": format_number(len(row.items)),
        "do": "",
        "do_buttons": [button] if may_change and row.in_force else [],
    }


async def _release(context: ServiceContext, event: events.GenericEventArguments) -> None:
    with notify_errors():
        await run_in_thread(withholding.release, context, [event.args["url"]])
        ui.navigate.to("/withholding")
