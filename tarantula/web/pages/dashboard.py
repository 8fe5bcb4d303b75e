"""The dashboard: what somebody follows, as it changes."""

from __future__ import annotations

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts, views
from tarantula.services.streams.views import ViewRow
from tarantula.web.components.alerts import FiringsView
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import text_element
from tarantula.web.components.forms import dialog
from tarantula.web.components.labels import VIEW_KIND_LABELS
from tarantula.web.components.source_finder import SourceFinder
from tarantula.web.dashboard.board import Board
from tarantula.web.i18n import _, language, mark, set_language, translate_sentence
from tarantula.web.layout import heading, page

MAX_FIRINGS_SHOWN = 3
"""That stand above the cards; there is a page for all of them."""


@page("/dashboard", mark("Dashboard"))
def dashboard_page(desk: ServiceContext) -> None:
    """Show somebody's views, and let sources be added to them."""
    spoken = language()

    async def add(name: str) -> None:
        with notify_errors():
            await board.add(await run_in_thread(views.add_source_view, desk, name))

    async def take_over() -> None:
        set_language(spoken)
        await _shared_views(desk, board)

    heading(_("Dashboard"))
    with ui.row().classes("w-full items-start gap-2 mb-3"):
        with ui.element("div").classes("grow min-w-[14rem]"):
            SourceFinder(desk, _("Add a source: type to search"), add)
        if desk.person.role.allows(Role.CURATOR):
            ui.button(_("Follow a value"), icon="ads_click", on_click=lambda: ui.navigate.to("/streams/new"))
        ui.button(_("Shared views"), icon="group", on_click=take_over).props("outline")
    # Above what somebody looks at, and only as long as there is something to see.
    with ui.element("section").classes("w-full mb-3"):
        firings = FiringsView(desk, MAX_FIRINGS_SHOWN, only_unseen=True)
    board = Board(desk, lambda: _fired(desk, firings))


async def _fired(desk: ServiceContext, firings: FiringsView) -> None:
    """Show what fired, if it is this person's, and say so where they look."""
    latest = await run_in_thread(alerts.list_firings, desk, 1)
    if latest.rows and latest.rows[0].id != firings.newest:
        firings.refresh()
        ui.notify(
            translate_sentence(latest.rows[0].why), color="amber-10", text_color="white", icon="notifications_active"
        )


async def _shared_views(desk: ServiceContext, board: Board) -> None:
    """Show the views of others, to be taken over."""
    rows: list[ViewRow] = []
    with notify_errors():
        rows = await run_in_thread(views.list_shared_views, desk)
    with dialog(_("Shared views")) as shown:
        if not rows:
            ui.label(_("There are no shared views that you may see."))
        with ui.element("ul").classes("w-full m-0 p-0 list-none"):
            for row in rows:
                with ui.element("li").classes("flex items-center gap-2 w-full"):
                    _shared_view(desk, board, row, shown)
        ui.button(_("Close"), on_click=shown.close).props("flat")
    shown.open()


def _shared_view(desk: ServiceContext, board: Board, row: ViewRow, shown: ui.dialog) -> None:
    async def take() -> None:
        shown.close()
        with notify_errors():
            await board.add(await run_in_thread(views.copy_shared_view, desk, row.id))

    title = row.view.title or ", ".join(row.view.sources)
    text_element("span", f"{title} · {_(VIEW_KIND_LABELS[row.view.kind])} · {row.owner}", "grow min-w-0 break-words")
    button = ui.button(_("Copy to my dashboard"), on_click=take).props("outline dense no-caps")
    button.props["aria-label"] = _("Copy {name} to my dashboard", name=title)
