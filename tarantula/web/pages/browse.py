"""Walking through an item's pages as a reader does, beside their metadata and the item before."""

from __future__ import annotations

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services import walkthrough
from tarantula.services.context import ServiceContext
from tarantula.web.components.items_part_common import item_navigation
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.browse_part_walking import ItemBrowser


@page("/items/{urn}/browse", mark("Browse"))
def browse_page(desk: ServiceContext, urn: str, document: str = "") -> None:
    """Show an item's pages, beginning with the one that was asked for, or else with the base document."""
    heading(_("Browse {urn}", urn=urn))
    item_navigation(urn, "/browse")
    ItemBrowser(desk, urn, ui.context.client).begin_at(_asked_for(desk, urn, document))


def _asked_for(desk: ServiceContext, urn: str, document: str) -> int:
    if not document:
        return walkthrough.first_document(desk, urn)
    if not (document.isascii() and document.isdigit()):
        raise TarantulaError(f"{document[:40]!r} is not the number of a document.")
    return int(document)
