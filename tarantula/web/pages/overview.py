"""The first page: what goes on, and what wants to be looked at."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.services import overview as management
from tarantula.services.context import Desk
from tarantula.services.overview import Brief, Overview
from tarantula.services.publications_part_publication_rows import PublicationRow
from tarantula.web.components.background import later
from tarantula.web.components.elements_part_style import subheading, tagged
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment, number
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.layout import heading, page


@page("/", mark("Overview"))
def overview(desk: Desk) -> None:
    """Show what is under way, what asks for a look, what comes next and what came last."""
    heading(_("Overview"))
    later(lambda: management.overview(desk), _show)


def _show(found: Overview) -> None:
    with ui.row().classes("gap-4 w-full"):
        _figure(_("Publications"), found.publications, "/publications")
        _figure(_("Items"), found.items, "/items")
        _figure(_("Under way"), len(found.under_way), None)
        _figure(_("Ask for attention"), len(found.attention), None)
    _items(_("Under way"), found.under_way, _("Nothing is being collected."))
    _attention(found.attention)
    _due(found.due)
    _items(_("Ended last"), found.latest, _("No item has ended yet."))


def _figure(label: str, value: int, target: str | None) -> None:
    with ui.card().classes("items-center flex-1 min-w-[8rem] p-3 gap-0").props("flat bordered"):
        tagged("span", number(value), "text-3xl font-bold")
        if target:
            ui.link(label, target)
        else:
            tagged("span", label)


def _items(title: str, briefs: list[Brief], nothing: str) -> None:
    subheading(title)
    if not briefs:
        tagged("p", nothing)
        return
    columns = [
        Column("urn", _("Item")),
        Column("state", _("State")),
        Column("validation", _("Validation")),
        Column("started", _("Begun")),
        Column("finished", _("Ended")),
        Column("reason", _("Reason")),
    ]
    listing(columns, [_item(brief) for brief in briefs], title, key="urn", search=False)


def _item(brief: Brief) -> dict[str, Any]:
    return {
        "urn": brief.urn,
        "urn_to": f"/items/{quote(brief.urn)}",
        "state": _(brief.state),
        "validation": _(brief.validation),
        "started": moment(brief.started_at),
        "finished": moment(brief.finished_at),
        "reason": retold(brief.reason or ""),
    }


def _attention(briefs: list[Brief]) -> None:
    subheading(_("Ask for attention"))
    if not briefs:
        tagged("p", _("Nothing asks for attention."))
        return
    rows = [
        {"urn": one.urn, "urn_to": f"/items/{quote(one.urn)}", "why": " ".join(map(retold, one.attention))}
        for one in briefs
    ]
    columns = [Column("urn", _("Item")), Column("why", _("Why"))]
    listing(columns, rows, _("Ask for attention"), key="urn", search=False)


def _due(rows: list[PublicationRow]) -> None:
    subheading(_("Collected next"))
    if not rows:
        tagged("p", _("No publication has a date for its next collection."))
        return
    shown = [
        {
            "name": row.name,
            "name_to": f"/publications/{quote(row.name)}",
            "next": moment(row.next_due),
            "often": _(row.every),
        }
        for row in rows
    ]
    columns = [Column("name", _("Publication")), Column("next", _("Next collection")), Column("often", _("How often"))]
    listing(columns, shown, _("Collected next"), key="name", search=False)
