"""A new source, made by pointing at a page."""

from __future__ import annotations

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page
from tarantula.web.pages.picker_part_picker import PickerView


@page("/streams/new", mark("Follow a value"), needed=Role.CURATOR)
def picker_page(desk: ServiceContext, url: str = "") -> None:
    """Show a page to be pointed at."""
    heading(_("Follow a value"))
    PickerView(desk, ui.context.client).begin_at(url)
