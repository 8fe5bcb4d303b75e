"""The first page: what goes on, and what wants to be looked at."""

from __future__ import annotations

from nicegui import ui

from tarantula import listings
from tarantula.management.desk import Desk
from tarantula.web.frame import heading, page
from tarantula.web.words import _, mark


@page("/", mark("Overview"))
def overview(desk: Desk) -> None:
    """Show how many items there are."""
    heading(_("Overview"))
    with desk.reading() as session:
        rows = listings.items(session)
    ui.label(_("{number} items", number=len(rows)))
