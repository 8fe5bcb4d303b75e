"""Every source that somebody may see: by hierarchy, by words, by tags."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services.context import Desk
from tarantula.services.streams import sources as streams
from tarantula.services.streams.sources_part_rows import Branch, SourceRow
from tarantula.streams.sources.config_part_state import Status
from tarantula.web.components.background import away, told
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.components.tables import Column, listing
from tarantula.web.format import at_shown
from tarantula.web.i18n import _, language, mark, use
from tarantula.web.layout import heading, page

STATES = {
    Status.NEW: mark("not read yet"),
    Status.READ: mark("read"),
    Status.MISSING: mark("not found"),
    Status.DOUBTFUL: mark("put aside"),
    Status.UNREACHED: mark("not reached"),
    Status.REFUSED: mark("refused"),
}


@page("/sources", mark("Sources"))
def sources(desk: Desk, below: str = "", words: str = "") -> None:
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
        use(spoken)
        with told():
            asked = str(line.value or "")
            rows = await away(streams.found, desk, asked, below)
            branches = [] if asked.strip() else await away(streams.hierarchy, desk, below)
            if asked == str(line.value or ""):
                place.clear()
                with place:
                    _branches([branch for branch in branches if branch.name != below])
                    if rows or asked.strip():
                        _listed(rows)
                    else:
                        tagged("p", _("Nothing is followed yet."))

    line.on_value_change(show)
    ui.timer(0.01, show, once=True)


def _path(below: str) -> None:
    parts = below.split(".") if below else []
    with ui.element("nav").classes("mb-2").props(f'aria-label="{_("Where in the hierarchy")}"'):
        ui.link(_("All"), "/sources")
        for number, part in enumerate(parts, 1):
            ui.label("›").classes("inline px-1")
            ui.link(part, f"/sources?below={quote('.'.join(parts[:number]))}")


def _branches(branches: list[Branch]) -> None:
    with ui.element("ul").classes("flex flex-wrap gap-x-4 gap-y-1 m-0 mb-3 p-0 list-none"):
        for branch in branches:
            with ui.element("li"):
                ui.link(f"{branch.name} ({branch.sources})", f"/sources?below={quote(branch.name)}")


def _listed(rows: list[SourceRow]) -> None:
    columns = [
        Column("name", _("Name")),
        Column("title", _("Title")),
        Column("tags", _("Tags")),
        Column("state", _("State")),
        Column("changed", _("Last change"), shown="changed_shown"),
        Column("owner", _("Owner")),
    ]
    listing(columns, [_row(row) for row in rows], _("Sources"), key="name", search=False)


def _row(row: SourceRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "name_to": f"/sources/{quote(row.name)}",
        "title": row.title,
        "tags": ", ".join(row.tags),
        "state": _("paused") if row.paused else _(STATES[Status(row.status)]),
        "changed": row.event_at,
        "changed_shown": at_shown(row.event_at),
        "owner": _("{owner}, private", owner=row.owner) if row.private else row.owner,
    }
