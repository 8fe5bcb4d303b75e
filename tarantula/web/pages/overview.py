"""The overview: what is running, what needs attention, what is due."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tarantula.services import overview
from tarantula.services.context import ServiceContext
from tarantula.services.fixity import FixityTotals
from tarantula.services.machines import DrainedRow
from tarantula.services.overview import ItemBrief, Overview
from tarantula.services.publications import PublicationRow
from tarantula.web.components.background import show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.i18n import _, format_moment, format_number, format_size, mark, translate_reason, translate_reasons
from tarantula.web.layout import heading, page


@page("/", mark("Overview"))
def overview_page(context: ServiceContext) -> None:
    """Show the running items, those that need attention, the next collections and the last ended items."""
    heading(_("Overview"))
    show_when_loaded(lambda: overview.get_overview(context), _show)


def _show(found: Overview) -> None:
    with ui.row().classes("gap-4 w-full"):
        _figure(_("Publications"), found.publications, "/publications")
        _figure(_("Items"), found.items, "/items")
        _figure(_("Running"), len(found.under_way), None)
        _figure(_("Needs attention"), len(found.attention), None)
        _figure(_("Verified files"), found.fixity.verified, None)
        _figure(_("Lost bodies"), found.fixity.damaged_bodies, None)
    _fixity(found.fixity)
    _items(_("Running"), found.under_way, _("Nothing is being collected."))
    _attention(found.attention)
    _due(found.due)
    _items(_("Recently ended"), found.latest, _("No item has ended yet."))
    if found.drained:
        _machines(found.drained)


def _machines(drained: list[DrainedRow]) -> None:
    """Show the machines on which nothing is started: `tarantula drain` empties one."""
    subheading(_("Machines that are being emptied"))
    rows = [
        {
            "host": one.host,
            "since": format_moment(one.since),
            "by": one.by,
            "running": ", ".join(process.work for process in one.processes),
        }
        for one in drained
    ]
    columns = [
        TableColumn("host", _("Machine")),
        TableColumn("since", _("Since")),
        TableColumn("by", _("By")),
        TableColumn("running", _("Still running")),
    ]
    data_table(columns, rows, _("Machines that are being emptied"), key="host", search=False)


def _fixity(totals: FixityTotals) -> None:
    """Show in one line what of the stored files is not in order, and the oldest check."""
    texts = [
        _(
            "{files} stored files, {size}.",
            files=format_number(sum(totals.files.values())),
            size=format_size(totals.bytes),
        )
    ]
    if totals.bad:
        texts.append(_("{number} are missing or damaged.", number=format_number(totals.bad)))
    if totals.unchecked:
        texts.append(_("{number} have not been read back yet.", number=format_number(totals.unchecked)))
    if totals.oldest_check is not None:
        texts.append(_("The oldest check was on {moment}.", moment=format_moment(totals.oldest_check)))
    text_element("p", " ".join(texts))


def _figure(label: str, value: int, target: str | None) -> None:
    with ui.card().classes("items-center flex-1 min-w-[8rem] p-3 gap-0").props("flat bordered"):
        text_element("span", format_number(value), "text-3xl font-bold")
        if target:
            ui.link(label, target)
        else:
            text_element("span", label)


def _items(title: str, briefs: list[ItemBrief], nothing: str) -> None:
    subheading(title)
    if not briefs:
        text_element("p", nothing)
        return
    columns = [
        TableColumn("urn", _("Item")),
        TableColumn("state", _("State")),
        TableColumn("validation", _("Validation")),
        TableColumn("started", _("Started")),
        TableColumn("finished", _("Ended")),
        TableColumn("reason", _("Reason")),
    ]
    data_table(columns, [_item(brief) for brief in briefs], title, key="urn", search=False)


def _item(brief: ItemBrief) -> dict[str, Any]:
    return {
        "urn": brief.urn,
        "urn_to": f"/items/{quote(brief.urn)}",
        "state": _(brief.state),
        "validation": _(brief.validation),
        "started": format_moment(brief.started_at),
        "finished": format_moment(brief.finished_at),
        "reason": translate_reason(brief.reason_code, brief.reason_parameters),
    }


def _attention(briefs: list[ItemBrief]) -> None:
    subheading(_("Needs attention"))
    if not briefs:
        text_element("p", _("Nothing needs attention."))
        return
    rows = [
        {
            "urn": one.urn,
            "urn_to": f"/items/{quote(one.urn)}",
            "why": " ".join(translate_reasons(one.attention_reasons)),
        }
        for one in briefs
    ]
    columns = [TableColumn("urn", _("Item")), TableColumn("why", _("Reason"))]
    data_table(columns, rows, _("Needs attention"), key="urn", search=False)


def _due(rows: list[PublicationRow]) -> None:
    subheading(_("Next collections"))
    if not rows:
        text_element("p", _("No publication is scheduled."))
        return
    shown = [
        {
            "name": row.name,
            "name_to": f"/publications/{quote(row.name)}",
            "next": format_moment(row.next_due),
            "often": _(row.every),
        }
        for row in rows
    ]
    columns = [
        TableColumn("name", _("Publication")),
        TableColumn("next", _("Next collection")),
        TableColumn("often", _("Frequency")),
    ]
    data_table(columns, shown, _("Next collections"), key="name", search=False)
