"""Every item, the newest first."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from tarantula.core.states import ItemState
from tarantula.services import items
from tarantula.services.context import Desk
from tarantula.services.items import ItemRow
from tarantula.services.pagination import Page
from tarantula.web.components.background import later
from tarantula.web.components.items_part_common import address
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment, number, size
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.layout import heading, page


@page("/items", mark("Items"))
def all_items(desk: Desk, publication: str = "", state: str = "", before: str = "") -> None:
    """Show them, with how far each is."""
    heading(_("Items of {name}", name=publication) if publication else _("Items"))
    choices = {"": _("all states"), **{str(one): _(one) for one in ItemState}}

    def choose(chosen: str) -> None:
        ui.navigate.to(_address(publication, chosen))

    ui.select(
        choices,
        value=state if state in choices else "",
        label=_("State"),
        on_change=lambda change: choose(change.value),
    ).classes("w-56").props("outlined dense")
    later(
        lambda: items.listed(desk, publication or None, state or None, before=before or None),
        lambda found: _show(found, publication, state, bool(before)),
    )


def _show(found: Page[ItemRow], publication: str, state: str, is_later: bool) -> None:
    columns = [
        Column("urn", _("Item")),
        Column("state", _("State")),
        Column("validation", _("Validation")),
        Column("started", _("Begun")),
        Column("finished", _("Ended")),
        Column("documents", _("Documents"), number=True),
        Column("collected", _("Collected"), number=True),
        Column("waiting", _("Waiting"), number=True),
        Column("bytes", _("Size"), number=True, shown="size"),
    ]
    listing(columns, [_row(row) for row in found.rows], _("Items"), key="urn", search=False)
    with ui.row().classes("mt-2"):
        if is_later:
            ui.link(_("The newest"), _address(publication, state))
        if found.next:
            ui.link(_("Older ones"), _address(publication, state, found.next))


def _row(row: ItemRow) -> dict[str, Any]:
    return {
        "urn": row.urn,
        "urn_to": address(row.urn),
        "state": _(row.state) + (f": {retold(row.reason)}" if row.reason else ""),
        "validation": _(row.validation),
        "started": moment(row.started_at),
        "finished": moment(row.finished_at),
        "documents": number(row.documents),
        "collected": number(row.collected),
        "waiting": number(row.waiting),
        "bytes": row.bytes,
        "size": size(row.bytes),
    }


def _address(publication: str, state: str, before: str = "") -> str:
    asked = {"publication": publication, "state": state, "before": before}
    return f"/items?{urlencode({name: value for name, value in asked.items() if value})}"
