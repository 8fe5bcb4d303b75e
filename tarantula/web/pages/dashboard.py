"""The dashboard page."""

from __future__ import annotations

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts, views
from tarantula.services.streams.views import ViewRow
from tarantula.web.components.alerts import FiringsView
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import text_element
from tarantula.web.components.forms import VIEW_KIND_LABELS, dialog
from tarantula.web.components.source_form import SourceFinder
from tarantula.web.dashboard.board import Board
from tarantula.web.i18n import _, language, mark, set_language
from tarantula.web.layout import heading, page

MAX_FIRINGS_SHOWN = 3
"""Maximum number of firings above the cards."""


@page("/dashboard", mark("Dashboard"))
async def dashboard_page(context: ServiceContext) -> None:
    """Show the views of the account, and a field to add sources."""
    reader_language = language()

    async def add(name: str) -> None:
        with notify_errors():
            await board.add(await run_in_thread(views.add_source_view, context, name))

    async def open_shared() -> None:
        set_language(reader_language)
        await _shared_views_dialog(context, board)

    heading(_("Dashboard"))
    with ui.row().classes("w-full items-start gap-2 mb-3"):
        with ui.element("div").classes("grow min-w-[14rem]"):
            SourceFinder(context, _("Add a source: type to search"), add)
        if context.person.role.allows(Role.CURATOR):
            ui.button(_("Follow a value"), icon="ads_click", on_click=lambda: ui.navigate.to("/streams/new"))
        ui.button(_("Shared views"), icon="group", on_click=open_shared).props("outline")
    # Above the cards, and only while there are firings to see.
    with ui.element("section").classes("w-full mb-3"):
        firings = FiringsView(context, MAX_FIRINGS_SHOWN, only_unseen=True)
        await firings.refresh()
    board = Board(context, lambda: _show_new_firings(context, firings))


async def _show_new_firings(context: ServiceContext, firings: FiringsView) -> None:
    """Show new firings of the account's alerts, with a notification."""
    latest = await run_in_thread(alerts.list_firings, context, 1)
    if latest.rows and latest.rows[0].id != firings.newest:
        await firings.refresh()
        ui.notify(_(latest.rows[0].why), color="amber-10", text_color="white", icon="notifications_active")


async def _shared_views_dialog(context: ServiceContext, board: Board) -> None:
    """Show a dialog with the views that other accounts share."""
    rows: list[ViewRow] = []
    with notify_errors():
        rows = await run_in_thread(views.list_shared_views, context)
    with dialog(_("Shared views")) as prompt:
        if not rows:
            ui.label(_("There are no shared views that you may see."))
        with ui.element("ul").classes("w-full m-0 p-0 list-none"):
            for row in rows:
                with ui.element("li").classes("flex items-center gap-2 w-full"):
                    _shared_view_row(context, board, row, prompt)
        ui.button(_("Close"), on_click=prompt.close).props("flat")
    prompt.open()


def _shared_view_row(context: ServiceContext, board: Board, row: ViewRow, prompt: ui.dialog) -> None:
    async def copy() -> None:
        prompt.close()
        with notify_errors():
            await board.add(await run_in_thread(views.copy_shared_view, context, row.id))

    title = row.view.title or ", ".join(row.view.sources)
    text_element("span", f"{title} · {_(VIEW_KIND_LABELS[row.view.kind])} · {row.owner}", "grow min-w-0 break-words")
    button = ui.button(_("Copy to my dashboard"), on_click=copy).props("outline dense no-caps")
    button.props["aria-label"] = _("Copy to my dashboard: {name}", name=title)
