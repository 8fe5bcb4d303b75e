"""The list of what needs a look first."""

from __future__ import annotations

from collections.abc import Iterable

from nicegui import ui

from tarantula.archive.quality.review_list import Look, LookKind
from tarantula.web.components.items_part_common import address
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import retold

KINDS = {
    LookKind.BASE_MISSING: mark("The base document was not collected"),
    LookKind.BASE_CHANGED: mark("The base document changed"),
    LookKind.INCOMPLETE: mark("The page lacks something"),
    LookKind.FAILED: mark("Could not be had"),
    LookKind.CHANGED: mark("Changed"),
    LookKind.NEW: mark("New"),
    LookKind.GONE: mark("Gone"),
}


def browse_address(urn: str, document_id: int) -> str:
    """Return where a document is looked at."""
    return address(urn, f"/browse?document={document_id}")


def draw_looks(looks: Iterable[Look]) -> None:
    """Show what needs a look first, each with a link to it."""
    with ui.element("ol").classes("w-full m-0 p-0 list-none text-sm").props(f'aria-label="{_("To look at first")}"'):
        for look in looks:
            with ui.element("li").classes("mb-2"):
                ui.label(_(KINDS[look.kind])).classes("font-medium")
                ui.link(look.url, browse_address(look.urn, look.document_id)).classes("break-all")
                if look.reason:
                    ui.label(retold(look.reason)).classes("break-all")
