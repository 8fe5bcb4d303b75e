"""One document, with all that is known of it."""

from __future__ import annotations

from nicegui import ui

from tarantula.services import documents_part_documents
from tarantula.services.context import Desk
from tarantula.services.documents import DocumentDetail, Named
from tarantula.web.components.background import later
from tarantula.web.components.elements_part_style import subheading, tagged
from tarantula.web.components.items import Search
from tarantula.web.components.items_part_common import address, facts, parts_of, state_words
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment, number, size
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.layout import heading, page
from tarantula.web.replay.addresses import original_address


@page("/items/{urn}/documents/{number}", mark("Document"))
def one_document(desk: Desk, urn: str, number: int) -> None:
    """Show its reason, headers, via, links out, links in and other captures."""
    heading(_("Document {number} of {urn}", number=number, urn=urn))
    parts_of(urn, "/documents")
    later(lambda: documents_part_documents.shown(desk, urn, number), lambda found: _show(desk, found))


def _show(desk: Desk, found: DocumentDetail) -> None:
    facts(_facts(found))
    if found.has_body:
        with ui.row():
            ui.link(_("Open it as it was collected"), address(found.urn, f"/browse?document={found.id}"))
            original = original_address(ui.context.client, found.urn, found.id)
            ui.link(_("The bytes as they were sent"), original, new_tab=True).props('rel="noreferrer"')
    _headers(found)
    subheading(_("First named by"))
    if found.via is None:
        tagged("p", _("Nobody: it is the base document, or was found in another way."))
    else:
        ui.link(found.via.url, address(found.urn, f"/documents/{found.via.id}")).classes("break-all")
    _links_out(found)
    subheading(_("Links to it"))
    Search(
        found.urn,
        lambda limit, after: documents_part_documents.links_in(desk, found.urn, found.id, limit, after),
        _("Documents that name it"),
    )
    _other_captures(found)


def _facts(found: DocumentDetail) -> list[tuple[str, str]]:
    rows = [
        (_("URL"), found.url),
        (_("State"), f"{found.state} {state_words(found.state)}"),
        (_("Reason"), retold(found.reason or "–")),
        (_("Rule"), found.rule or "–"),
        (_("Server"), found.server),
        (_("Depth"), number(found.depth)),
        (_("Named as"), _(found.kind)),
        (_("Tries"), number(found.tries)),
        (_("Type"), f"{found.type or '–'} {found.charset or ''}"),
        (_("Size"), "–" if found.size is None else f"{size(found.size)} ({number(found.size)})"),
        (_("Digest"), found.digest or "–"),
        (_("Collected"), moment(found.collected_at)),
    ]
    if found.warc is not None:
        rows.append((_("Record"), f"{found.warc}, {number(found.warc_offset or 0)}"))
    if found.is_revisit:
        rows.append((_("Body"), _("the same as in an earlier record, which has it")))
    return rows


def _headers(found: DocumentDetail) -> None:
    subheading(_("Headers"))
    if found.headers_missing:
        tagged("p", retold(found.headers_missing))
    elif found.status_line is None:
        tagged("p", _("No answer was kept."))
    else:
        tagged("p", found.status_line, "font-mono break-all")
        facts(found.headers)


def _links_out(found: DocumentDetail) -> None:
    subheading(_("Links of it ({number})", number=number(found.links)))
    if len(found.links_out) < found.links:
        tagged("p", _("Those that have a document in this item, {number} at most:", number=len(found.links_out)))
    columns = [Column("url", _("URL")), Column("state", _("State")), Column("kind", _("Named as"))]
    listing(columns, [_named(found.urn, one) for one in found.links_out], _("Links of it"), key="id")


def _named(urn: str, named: Named) -> dict[str, object]:
    return {
        "id": named.id,
        "url": named.url,
        "url_to": address(urn, f"/documents/{named.id}"),
        "state": f"{named.state} {state_words(named.state)}",
        "kind": _(named.kind),
    }


def _other_captures(found: DocumentDetail) -> None:
    subheading(_("The same URL in other items"))
    columns = [
        Column("urn", _("Item")),
        Column("state", _("State")),
        Column("collected", _("Collected")),
        Column("same", _("Body")),
    ]
    rows = [
        {
            "urn": one.urn,
            "urn_to": address(one.urn, f"/documents/{one.id}"),
            "state": f"{one.state} {state_words(one.state)}",
            "collected": moment(one.collected_at),
            "same": _("the same") if one.same else _("another"),
        }
        for one in found.other_captures
    ]
    listing(columns, rows, _("The same URL in other items"), key="urn")
