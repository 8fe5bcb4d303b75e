"""Walking through an item's pages as a reader does, beside their metadata and the item before."""

from __future__ import annotations

from nicegui import ui

from tarantula.errors import TarantulaError
from tarantula.management import browsing
from tarantula.management.desk import Desk
from tarantula.web.frame import heading, page
from tarantula.web.parts.items.common import parts_of
from tarantula.web.parts.items.walking import Walk
from tarantula.web.words import _, mark


@page("/items/{urn}/browse", mark("Browse"))
def browse(desk: Desk, urn: str, document: str = "") -> None:
    """Show an item's pages, beginning with the one that was asked for, or else with the base document."""
    heading(_("Browse {urn}", urn=urn))
    parts_of(urn, "/browse")
    Walk(desk, urn, ui.context.client).begin_at(_asked_for(desk, urn, document))


def _asked_for(desk: Desk, urn: str, document: str) -> int:
    if not document:
        return browsing.begin(desk, urn)
    if not (document.isascii() and document.isdigit()):
        raise TarantulaError(f"{document[:40]!r} is not the number of a document.")
    return int(document)
