"""What the pages of one item have in common."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from nicegui import ui

from tarantula.core.states import STATE_MEANINGS, state_meaning
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.i18n import _, mark

ITEM_PAGES = (
    ("", mark("Overview")),
    ("/documents", mark("Documents")),
    ("/servers", mark("Servers")),
    ("/report", mark("Report")),
    ("/browse", mark("Browse")),
    ("/validate", mark("Validate")),
)
"""The pages of an item, and their names."""

COMMON_STATUS_CODES = (200, 204, 206, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 429, 500, 502, 503, 504)
"""Codes that servers often give."""


def item_path(urn: str, part: str = "") -> str:
    """Return where a page of an item is."""
    return f"/items/{quote(urn, safe='')}{part}"


def item_navigation(urn: str, here: str) -> None:
    """Show the way to the other pages of an item."""
    with ui.element("nav").classes("flex flex-wrap gap-4 mb-4") as nav:
        nav.props["aria-label"] = _("Pages of the item")
        for part, name in ITEM_PAGES:
            link = ui.link(_(name), item_path(urn, part))
            if part == here:
                link.props('aria-current="page"').classes("font-bold")


def state_label(state: int) -> str:
    """Say what a document's state means, in the reader's language."""
    return _(state_meaning(state))


def state_choices(known: Iterable[int] = ()) -> dict[int, str]:
    """Return the states that can be looked for, with their meanings."""
    states = sorted({*STATE_MEANINGS, *COMMON_STATUS_CODES, *known}, key=lambda state: (state <= 0, abs(state)))
    return {state: f"{state} {state_label(state)}" for state in states}


def fact_list(rows: Iterable[tuple[str, str]]) -> None:
    """Show names and values; the values may be anybody's words."""
    with ui.element("dl").classes("w-full grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-1"):
        for name, value in rows:
            text_element("dt", name, "font-medium")
            text_element("dd", value, "min-w-0 break-all whitespace-pre-wrap")
