"""Every source that somebody may see: by hierarchy, by words, by tags."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as streams
from tarantula.services.streams.sources_part_rows import HierarchyBranch, SourceRow
from tarantula.streams.sources.config_part_state import SourceStatus
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format import format_timestamp
from tarantula.web.i18n import _, language, mark, set_language
from tarantula.web.layout import heading, page

STATUS_LABELS = {
    SourceStatus.NEW: mark("not read yet"),
    SourceStatus.READ: mark("read"),
    SourceStatus.MISSING: mark("not found"),
    SourceStatus.DOUBTFUL: mark("put aside"),
    SourceStatus.UNREACHED: mark("not reached"),
    SourceStatus.REFUSED: mark("refused"),
}


@page("/sources", mark("Sources"))
def sources_page(desk: ServiceContext, below: str = "", words: str = "") -> None:
    """Show where the hierarchy of names goes on, and the sources that are there."""
    heading(_("Sources"))
    spoken = language()
    if desk.person.role.allows(Role.CURATOR):
        following = ui.button(_("Follow a value"), icon="ads_click", on_click=lambda: ui.navigate.to("/streams/new"))
        following.classes("mb-2")
    _path(below)
    line = ui.input(_("Words: of names, titles, descriptions and tags"), value=words).classes("w-full mb-2")
    line.props('type=search outlined dense clearable debounce="200" maxlength=200')
    place = ui.element("div").classes("w-full")

    async def show() -> None:
        set_language(spoken)
        with notify_errors():
            asked = str(line.value or "")
            rows = await run_in_thread(streams.find_sources, desk, asked, below)
            branches = [] if asked.strip() else await run_in_thread(streams.hierarchy, desk, below)
            if asked == str(line.value or ""):
                place.clear()
                with place:
                    _branches([branch for branch in branches if branch.name != below])
                    if rows or asked.strip():
                        _listed(rows)
                    else:
                        text_element("p", _("Nothing is followed yet."))

    line.on_value_change(show)
    ui.timer(0.01, show, once=True)


def _path(below: str) -> None:
    parts = below.split(".") if below else []
    with ui.element("nav").classes("mb-2").props(f'aria-label="{_("Where in the hierarchy")}"'):
        ui.link(_("All"), "/sources")
        for number, part in enumerate(parts, 1):
            ui.label("›").classes("inline px-1")
            ui.link(part, f"/sources?below={quote('.'.join(parts[:number]))}")


def _branches(branches: list[HierarchyBranch]) -> None:
    with ui.element("ul").classes("flex flex-wrap gap-x-4 gap-y-1 m-0 mb-3 p-0 list-none"):
        for branch in branches:
            with ui.element("li"):
                ui.link(f"{branch.name} ({branch.sources})", f"/sources?below={quote(branch.name)}")


def _listed(rows: list[SourceRow]) -> None:
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("title", _("Title")),
        TableColumn("tags", _("Tags")),
        TableColumn("state", _("State")),
        TableColumn("changed", _("Last change"), shown="changed_shown"),
        TableColumn("owner", _("Owner")),
    ]
    data_table(columns, [_row(row) for row in rows], _("Sources"), key="name", search=False)


def _row(row: SourceRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "name_to": f"/sources/{quote(row.name)}",
        "title": row.title,
        "tags": ", ".join(row.tags),
        "state": _("paused") if row.paused else _(STATUS_LABELS[SourceStatus(row.status)]),
        "changed": row.event_at,
        "changed_shown": format_timestamp(row.event_at),
        "owner": _("{owner}, private", owner=row.owner) if row.private else row.owner,
    }
