"""Every item, the newest first."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from tarantula.core.states import ItemState
from tarantula.services import items
from tarantula.services.context import ServiceContext
from tarantula.services.items import ItemRow
from tarantula.services.pagination import ResultPage
from tarantula.web.components.background import show_when_loaded
from tarantula.web.components.items_part_common import item_path
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment, format_number, format_size
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.layout import heading, page


@page("/items", mark("Items"))
def items_page(desk: ServiceContext, publication: str = "", state: str = "", before: str = "") -> None:
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
    show_when_loaded(
        lambda: items.list_items(desk, publication or None, state or None, before=before or None),
        lambda found: _show(found, publication, state, bool(before)),
    )


def _show(found: ResultPage[ItemRow], publication: str, state: str, is_later: bool) -> None:
    columns = [
        TableColumn("urn", _("Item")),
        TableColumn("state", _("State")),
        TableColumn("validation", _("Validation")),
        TableColumn("started", _("Begun")),
        TableColumn("finished", _("Ended")),
        TableColumn("documents", _("Documents"), number=True),
        TableColumn("collected", _("Collected"), number=True),
        TableColumn("waiting", _("Waiting"), number=True),
        TableColumn("bytes", _("Size"), number=True, shown="size"),
    ]
    data_table(columns, [_row(row) for row in found.rows], _("Items"), key="urn", search=False)
    with ui.row().classes("mt-2"):
        if is_later:
            ui.link(_("The newest"), _address(publication, state))
        if found.next:
            ui.link(_("Older ones"), _address(publication, state, found.next))


def _row(row: ItemRow) -> dict[str, Any]:
    return {
        "urn": row.urn,
        "urn_to": item_path(row.urn),
        "state": _(row.state) + (f": {translate_sentence(row.reason)}" if row.reason else ""),
        "validation": _(row.validation),
        "started": format_moment(row.started_at),
        "finished": format_moment(row.finished_at),
        "documents": format_number(row.documents),
        "collected": format_number(row.collected),
        "waiting": format_number(row.waiting),
        "bytes": row.bytes,
        "size": format_size(row.bytes),
    }


def _address(publication: str, state: str, before: str = "") -> str:
    asked = {"publication": publication, "state": state, "before": before}
    return f"/items?{urlencode({name: value for name, value in asked.items() if value})}"
