"""The documents of an item: a table that stays quick with a million rows."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from nicegui import ui
from pydantic import ValidationError

from tarantula.core import messages
from tarantula.core.errors import TarantulaError
from tarantula.services import documents_part_documents
from tarantula.services.context import ServiceContext
from tarantula.services.documents_part_documents import DocumentFilters
from tarantula.web.components.items import DocumentList
from tarantula.web.components.items_part_common import item_navigation, item_path, state_choices
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.layout import heading, page


@page("/items/{urn}/documents", mark("Documents"))
def documents_page(
    desk: ServiceContext, urn: str, state: str = "", type: str = "", server: str = "", depth: str = "", words: str = ""
) -> None:
    """Show those that somebody looks for, all at first."""
    heading(_("Documents of {urn}", urn=urn))
    item_navigation(urn, "/documents")
    asked = {"state": state, "type": type, "server": server, "depth": depth, "words": words}
    filters = _Filters(urn, _read(asked))
    filters.controls()
    search = DocumentList(
        urn,
        lambda limit, after: documents_part_documents.list_documents(desk, urn, filters.wanted, limit, after),
        _("Documents"),
    )
    filters.on_change = search.begin


def _read(asked: dict[str, Any]) -> DocumentFilters:
    try:
        return DocumentFilters.model_validate({name: value for name, value in asked.items() if value not in ("", None)})
    except ValidationError as error:
        raise TarantulaError("\n".join(messages.validation_messages(error, DocumentFilters.model_fields))) from error


class _Filters:
    """What is looked for, and the controls with which it is changed."""

    def __init__(self, urn: str, wanted: DocumentFilters) -> None:
        self._urn = urn
        self.wanted = wanted
        self.on_change: Any = None

    def controls(self) -> None:
        """Show the controls; the address in the browser follows them."""
        known = [] if self.wanted.state is None else [self.wanted.state]
        with ui.row().classes("w-full items-end gap-2") as form:
            form.props('role="search"')
            ui.select(
                {None: _("all states"), **state_choices(known)},
                value=self.wanted.state,
                label=_("State"),
                on_change=lambda change: self._change("state", change.value),
            ).props("outlined dense").classes("w-64")
            self._text("type", _("Type"), _("As text/html"))
            self._text("server", _("Server"), _("Its whole name"))
            self._text("depth", _("Depth"), _("Links from the base document"))
            self._text("words", _("Words in the URL"), _("All of them, in any order"))

    def _text(self, name: str, label: str, hint: str) -> None:
        value = getattr(self.wanted, name)
        text = ui.input(label, value="" if value is None else str(value))
        text.props(f'outlined dense clearable debounce="400" placeholder="{hint}"').classes("w-48")
        text.on_value_change(lambda change: self._change(name, change.value))

    async def _change(self, name: str, value: object) -> None:
        asked = {**self.wanted.model_dump(), name: value}
        try:
            self.wanted = _read(asked)
        except TarantulaError as error:
            ui.notify(translate_sentence(str(error)), color="red-10", text_color="white")
            return
        chosen = {key: one for key, one in self.wanted.model_dump().items() if one not in ("", None)}
        ui.navigate.history.replace(f"{item_path(self._urn, '/documents')}?{urlencode(chosen)}")
        if self.on_change is not None:
            await self.on_change()
