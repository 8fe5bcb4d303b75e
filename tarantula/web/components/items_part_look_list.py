"""The list of what needs a look first."""

from __future__ import annotations

from collections.abc import Iterable

from nicegui import ui

from tarantula.archive.quality.review_list import ReviewEntry, ReviewReason
from tarantula.web.components.items_part_common import item_path
from tarantula.web.i18n import _, mark
from tarantula.web.i18n_part_retelling import translate_sentence

REVIEW_LABELS = {
    ReviewReason.BASE_MISSING: mark("The base document was not collected"),
    ReviewReason.BASE_CHANGED: mark("The base document changed"),
    ReviewReason.INCOMPLETE: mark("The page lacks something"),
    ReviewReason.FAILED: mark("Could not be had"),
    ReviewReason.CHANGED: mark("Changed"),
    ReviewReason.NEW: mark("New"),
    ReviewReason.GONE: mark("Gone"),
}


def browse_path(urn: str, document_id: int) -> str:
    """Return where a document is looked at."""
    return item_path(urn, f"/browse?document={document_id}")


def review_list(looks: Iterable[ReviewEntry]) -> None:
    """Show what needs a look first, each with a link to it."""
    with ui.element("ol").classes("w-full m-0 p-0 list-none text-sm").props(f'aria-label="{_("To look at first")}"'):
        for look in looks:
            with ui.element("li").classes("mb-2"):
                ui.label(_(REVIEW_LABELS[look.kind])).classes("font-medium")
                ui.link(look.url, browse_path(look.urn, look.document_id)).classes("break-all")
                if look.reason:
                    ui.label(translate_sentence(look.reason)).classes("break-all")
