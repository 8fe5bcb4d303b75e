"""Document pages: the documents of an item, and one document with its headers, links and other captures."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from nicegui import ui
from pydantic import ValidationError

from tarantula.core import validation
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import join_messages
from tarantula.services import documents
from tarantula.services.context import ServiceContext
from tarantula.services.documents import DocumentDetail, DocumentFilters, LinkedDocument
from tarantula.web.components.background import show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.components.items import (
    DocumentList,
    fact_list,
    item_navigation,
    item_path,
    state_choices,
    state_label,
    state_with_mark,
    withheld_label,
)
from tarantula.web.i18n import _, format_moment, format_number, format_size, mark, translate_reason
from tarantula.web.layout import heading, page
from tarantula.web.replay.addresses import original_address


@page("/items/{urn}/documents", mark("Documents"))
def documents_page(
    context: ServiceContext,
    urn: str,
    state: str = "",
    type: str = "",
    server: str = "",
    depth: str = "",
    words: str = "",
) -> None:
    """Show the documents of an item, filtered by the query string."""
    heading(_("Documents of {urn}", urn=urn))
    item_navigation(urn, "/documents")
    query = {"state": state, "type": type, "server": server, "depth": depth, "words": words}
    filters = _Filters(urn, _parse_filters(query))
    filters.controls()
    search = DocumentList(
        urn,
        lambda limit, after: documents.list_documents(context, urn, filters.values, limit, after),
        _("Documents"),
    )
    filters.on_change = search.begin


def _parse_filters(query: dict[str, Any]) -> DocumentFilters:
    try:
        return DocumentFilters.model_validate({name: value for name, value in query.items() if value not in ("", None)})
    except ValidationError as error:
        raise TarantulaError(
            join_messages(validation.validation_messages(error, DocumentFilters.model_fields))
        ) from error


class _Filters:
    """Filter controls of the document list."""

    def __init__(self, urn: str, values: DocumentFilters) -> None:
        self._urn = urn
        self.values = values
        self.on_change: Any = None

    def controls(self) -> None:
        """Draw the controls; the address in the browser follows their values."""
        known = [] if self.values.state is None else [self.values.state]
        with ui.row().classes("w-full items-end gap-2") as form:
            form.props('role="search"')
            ui.select(
                {None: _("all states"), **state_choices(known)},
                value=self.values.state,
                label=_("State"),
                on_change=lambda change: self._change("state", change.value),
            ).props("outlined dense").classes("w-64")
            self._text("type", _("Type"), _("For example text/html"))
            self._text("server", _("Server"), _("Full name"))
            self._text("depth", _("Depth"), _("Links from the base document"))
            self._text("words", _("Words in the URL"), _("All words, in any order"))

    def _text(self, name: str, label: str, hint: str) -> None:
        value = getattr(self.values, name)
        text = ui.input(label, value="" if value is None else str(value))
        text.props(f'outlined dense clearable debounce="400" placeholder="{hint}"').classes("w-48")
        text.on_value_change(lambda change: self._change(name, change.value))

    async def _change(self, name: str, value: object) -> None:
        query = {**self.values.model_dump(), name: value}
        try:
            self.values = _parse_filters(query)
        except TarantulaError as error:
            ui.notify(_(str(error)), color="red-10", text_color="white")
            return
        query = {key: one for key, one in self.values.model_dump().items() if one not in ("", None)}
        ui.navigate.history.replace(f"{item_path(self._urn, '/documents')}?{urlencode(query)}")
        if self.on_change is not None:
            await self.on_change()


@page("/items/{urn}/documents/{number}", mark("Document"))
def document_page(context: ServiceContext, urn: str, number: int) -> None:
    """Show a document with its reason, headers, links and other captures."""
    heading(_("Document {number} of {urn}", number=number, urn=urn))
    item_navigation(urn, "/documents")
    show_when_loaded(lambda: documents.get_document(context, urn, number), lambda found: _show(context, found))


def _show(context: ServiceContext, found: DocumentDetail) -> None:
    fact_list(_facts(found))
    if found.withheld is not None:
        text_element("p", withheld_label(found.withheld)).classes("font-bold")
    elif found.has_body:
        with ui.row():
            ui.link(_("Open the archived page"), item_path(found.urn, f"/browse?document={found.id}"))
            original = original_address(ui.context.client, found.urn, found.id)
            ui.link(_("Original response"), original, new_tab=True).props('rel="noreferrer"')
    _headers(found)
    subheading(_("First linked from"))
    if found.via is None:
        text_element("p", _("No link: it is the base document, or was discovered in another way."))
    else:
        ui.link(found.via.url, item_path(found.urn, f"/documents/{found.via.id}")).classes("break-all")
    _links_out(found)
    subheading(_("Incoming links"))
    DocumentList(
        found.urn,
        lambda limit, after: documents.documents_linking_to(context, found.urn, found.id, limit, after),
        _("Documents that link to it"),
    )
    _other_captures(found)


def _facts(found: DocumentDetail) -> list[tuple[str, str]]:
    rows = [
        (_("URL"), found.url),
        (_("State"), f"{found.state} {state_label(found.state)}"),
        (_("Reason"), translate_reason(found.reason_code, found.reason_parameters) or "–"),
        (_("Rule"), found.rule or "–"),
        (_("Server"), found.server),
        (_("Depth"), format_number(found.depth)),
        (_("Link type"), _(found.kind)),
        (_("Attempts"), format_number(found.tries)),
        (_("Type"), f"{found.type or '–'} {found.charset or ''}"),
        (_("Size"), "–" if found.size is None else f"{format_size(found.size)} ({format_number(found.size)})"),
        (_("Digest"), found.digest or "–"),
        (_("Collected"), format_moment(found.collected_at)),
    ]
    if found.warc is not None:
        rows.append((_("Record"), f"{found.warc}, {format_number(found.warc_offset or 0)}"))
    if found.is_revisit:
        rows.append((_("Body"), _("identical to an earlier record")))
    return rows


def _headers(found: DocumentDetail) -> None:
    subheading(_("Headers"))
    if found.headers_missing:
        text_element("p", _(found.headers_missing))
    elif found.status_line is None:
        text_element("p", _("No response was stored."))
    else:
        text_element("p", found.status_line, "font-mono break-all")
        fact_list(found.headers)


def _links_out(found: DocumentDetail) -> None:
    subheading(_("Outgoing links ({number})", number=format_number(found.links)))
    if len(found.links_out) < found.links:
        text_element("p", _("Links to documents of this item, at most {number}:", number=len(found.links_out)))
    columns = [TableColumn("url", _("URL")), TableColumn("state", _("State")), TableColumn("kind", _("Link type"))]
    data_table(columns, [_link_row(found.urn, one) for one in found.links_out], _("Outgoing links"), key="id")


def _link_row(urn: str, named: LinkedDocument) -> dict[str, object]:
    return {
        "id": named.id,
        "url": named.url,
        "url_to": item_path(urn, f"/documents/{named.id}"),
        "state": state_with_mark(named.state, named.withheld),
        "kind": _(named.kind),
    }


def _other_captures(found: DocumentDetail) -> None:
    subheading(_("The same URL in other items"))
    columns = [
        TableColumn("urn", _("Item")),
        TableColumn("state", _("State")),
        TableColumn("collected", _("Collected")),
        TableColumn("same", _("Body")),
    ]
    rows = [
        {
            "urn": one.urn,
            "urn_to": item_path(one.urn, f"/documents/{one.id}"),
            "state": f"{one.state} {state_label(one.state)}",
            "collected": format_moment(one.collected_at),
            "same": _("the same") if one.same else _("different"),
        }
        for one in found.other_captures
    ]
    data_table(columns, rows, _("The same URL in other items"), key="urn")
