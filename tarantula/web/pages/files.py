"""Page of the stored files of an item: which were read back, which are missing or damaged, and what is lost."""

from __future__ import annotations

from typing import Any

from tarantula.archive.damage import DamagedBody
from tarantula.services import fixity
from tarantula.services.context import ServiceContext
from tarantula.services.fixity import FileRow, ItemFiles
from tarantula.web.components.background import show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.components.items import item_navigation, item_path
from tarantula.web.i18n import _, format_moment, format_number, format_size, mark
from tarantula.web.layout import heading, page

FILE_STATES = {
    "open": mark("not closed"),
    "closed": mark("not read back yet"),
    "verified": mark("verified"),
    "missing": mark("missing"),
    "damaged": mark("damaged"),
}
PROBLEMS = {
    "missing": mark("The file is missing."),
    "truncated": mark("The file is truncated."),
    "unreadable": mark("The record is damaged."),
    "digest": mark("The body differs from its digest."),
    "removed": mark("The item that had the body was removed."),
}


@page("/items/{urn}/files", mark("Files"))
def files_page(context: ServiceContext, urn: str) -> None:
    """Show the WARC files of an item, and the documents without a readable body."""
    heading(_("Files of {urn}", urn=urn))
    item_navigation(urn, "/files")
    show_when_loaded(lambda: fixity.item_files(context, urn), _show)


def _show(found: ItemFiles) -> None:
    if found.verified_at is None:
        text_element("p", _("Not all files have been read back yet."))
    else:
        text_element("p", _("All files had been read back by {moment}.", moment=format_moment(found.verified_at)))
    if found.elsewhere is not None:
        text_element("p", _("The files are in another home: {place}.", place=found.elsewhere))
    columns = [
        TableColumn("name", _("File")),
        TableColumn("state", _("State")),
        TableColumn("bytes", _("Size"), number=True, shown="size"),
        TableColumn("records", _("Records"), number=True),
        TableColumn("checked", _("Last check")),
    ]
    data_table(columns, [_file(row) for row in found.files], _("Files"), key="name")
    subheading(_("Lost bodies"))
    if not found.lost_bodies:
        text_element("p", _("No lost body is known."))
        return
    _show_damage(found)


def _file(row: FileRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": _(FILE_STATES[row.state]),
        "bytes": row.size,
        "size": format_size(row.size) if row.size is not None else "",
        "records": format_number(row.records) if row.records is not None else "",
        "checked": format_moment(row.checked_at),
    }


def _show_damage(found: ItemFiles) -> None:
    listed, lost = len(found.damage), found.lost_bodies
    if lost > listed:
        text_element(
            "p",
            _("{listed} of {lost} are listed.", listed=format_number(listed), lost=format_number(lost)),
        )
    columns = [
        TableColumn("url", _("URL")),
        TableColumn("problem", _("Problem")),
        TableColumn("found", _("Found")),
        TableColumn("others", _("The same body in")),
    ]
    data_table(columns, [_damage(row) for row in found.damage], _("Lost bodies"), key="id")


def _damage(row: DamagedBody) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": row.document_id,
        "url": row.url,
        "problem": _(PROBLEMS[row.problem]),
        "found": format_moment(row.found_at),
        "others": ", ".join(other.urn for other in row.others) or _("no other capture"),
    }
    other = next((one for one in row.others if one.document_id is not None), None)
    if other is not None:
        shown["others_to"] = item_path(other.urn, f"/documents/{other.document_id}")
    return shown
