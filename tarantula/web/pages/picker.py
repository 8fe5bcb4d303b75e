"""A new source, made by pointing at a page."""

from __future__ import annotations

from nicegui import ui

from tarantula.management.desk import Desk
from tarantula.people.roles import Role
from tarantula.web.frame import heading, page
from tarantula.web.parts.streams.picker import Picker
from tarantula.web.words import _, mark


@page("/streams/new", mark("Follow a value"), needed=Role.CURATOR)
def new_stream(desk: Desk, url: str = "") -> None:
    """Show a page to be pointed at."""
    heading(_("Follow a value"))
    Picker(desk, ui.context.client).begin_at(url)
