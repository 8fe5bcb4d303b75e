"""What stands beside a page while somebody walks through an item: about it, the item before, what changed."""

from __future__ import annotations

from asyncio import to_thread

from nicegui import Client, ui

from tarantula.archive.diff.items_part_delta import DocumentChange
from tarantula.archive.diff.text import TextDiff
from tarantula.core.errors import TarantulaError
from tarantula.services import validation, walkthrough
from tarantula.services.context import ServiceContext
from tarantula.services.walkthrough import WalkthroughPage
from tarantula.web.components.elements import section, small_table
from tarantula.web.components.items_part_common import fact_list, state_label
from tarantula.web.components.items_part_look_list import browse_path, review_list
from tarantula.web.format_part_figures import format_moment, format_number
from tarantula.web.i18n import _, language, mark, set_language
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.layout import show_error
from tarantula.web.pages import browse_part_differences
from tarantula.web.replay.addresses import copy_address, original_address
from tarantula.web.replay.frame import ReplayFrame

CHANGE_LABELS = {
    DocumentChange.NEW: mark("The item before did not collect it."),
    DocumentChange.CHANGED: mark("It changed since the item before."),
    DocumentChange.SAME: mark("It is the same as in the item before."),
    DocumentChange.GONE: mark("The item before collected it, and this one did not."),
}
PANEL_LABELS = {"m": mark("About"), "b": mark("Item before"), "c": mark("What changed"), "l": mark("To look at first")}
"""What stands beside the page, by the key that shows it."""


class BrowsePanels:
    """Drawn when somebody looks at them; those that speak of a page are drawn anew for the next."""

    def __init__(self, desk: ServiceContext, client: Client, frame: ReplayFrame) -> None:
        self._desk, self._client, self._frame = desk, client, frame
        self._language = language()
        self._here: WalkthroughPage | None = None
        self._drawn: set[str] = set()
        with ui.tabs().classes("w-full").props("no-caps dense outside-arrows mobile-arrows") as self._tabs:
            for key, name in PANEL_LABELS.items():
                ui.tab(key, label=_(name))
        self._places: dict[str, ui.element] = {}
        with ui.tab_panels(self._tabs, value="m", animated=False, keep_alive=True).classes("w-full"):
            for key in PANEL_LABELS:
                with ui.tab_panel(key).classes("p-2"):
                    self._places[key] = ui.element("div").classes("w-full")
        self._tabs.on_value_change(lambda change: self._fill(str(change.value)))

    def choose(self, key: str) -> None:
        """Show one of them."""
        self._tabs.value = key

    async def tell_of(self, here: WalkthroughPage) -> None:
        """Speak of another page."""
        self._here = here
        # What needs a look first is the same for all pages.
        self._drawn &= {"l"}
        await self._fill(str(self._tabs.value))

    async def _fill(self, panel: str) -> None:
        set_language(self._language)
        here = self._here
        if here is None or panel in self._drawn:
            return
        self._drawn.add(panel)
        place = self._places[panel]
        place.clear()
        with place:
            ui.spinner(size="lg")
        try:
            draw = {"m": self._about, "b": self._before, "c": self._changes, "l": self._looks}[panel]
            await draw(here, place)
        except TarantulaError as error:
            place.clear()
            with place:
                show_error(translate_sentence(str(error)))

    async def _about(self, here: WalkthroughPage, place: ui.element) -> None:
        place.clear()
        with place:
            fact_list(_facts(here))
            if here.kept:
                original = original_address(self._client, here.urn, here.document_id)
                ui.link(_("The bytes as they were sent"), original, new_tab=True).props('rel="noreferrer"')
            if not here.copied and here.kept:
                ui.label(
                    _("The mirror has no copy of it: it is shown without what it needs, and its links lead nowhere.")
                )
            with section(_("Headers")):
                small_table(_("Headers"), [_("Name"), _("Value")], here.headers)

    async def _before(self, here: WalkthroughPage, place: ui.element) -> None:
        place.clear()
        with place:
            if here.before is None:
                ui.label(_("It is the first item of its publication."))
                return
            ui.label(_(CHANGE_LABELS[DocumentChange(here.before.change)]))
            if here.before.document_id is None:
                return
            ui.link(here.before.urn, browse_path(here.before.urn, here.before.document_id))
            ui.label(_("Collected: {moment}", moment=format_moment(here.before.collected_at))).classes("text-sm")
            with ui.element("div").classes("w-full h-[65vh] border border-slate-400"):
                frame = ReplayFrame(_("The same page in the item before"))
            frame.show(copy_address(self._client, here.before.urn, here.before.document_id))
        await self._compared(here)

    async def _changes(self, here: WalkthroughPage, place: ui.element) -> None:
        difference = await self._compared(here)
        set_language(self._language)
        if here is self._here:
            place.clear()
            with place:
                browse_part_differences.draw_text_diff(difference)

    async def _compared(self, here: WalkthroughPage) -> TextDiff:
        """Return what changed in a page, and mark it there, unless its reader has gone on."""
        difference = await to_thread(walkthrough.compare_with_previous, self._desk, here.urn, here.document_id)
        if here is self._here:
            self._frame.mark_lines(browse_part_differences.changed_lines(difference))
        return difference

    async def _looks(self, here: WalkthroughPage, place: ui.element) -> None:
        found = await to_thread(validation.item_attention, self._desk, here.urn)
        set_language(self._language)
        place.clear()
        with place:
            for rule in found.rules:
                ui.label(translate_sentence(rule.reason)).classes("text-sm")
            review_list(found.looks)
            if not found.looks:
                ui.label(_("Nothing stands out."))


def _facts(here: WalkthroughPage) -> list[tuple[str, str]]:
    rows: list[tuple[str, object]] = [
        (_("URL"), here.url),
        (_("Title"), here.title),
        (_("State"), f"{here.state} ({state_label(here.state)})"),
        (_("Reason"), translate_sentence(here.reason)),
        (_("Type"), here.type),
        (_("Charset"), here.charset),
        (_("Bytes"), format_number(here.size) if here.size is not None else None),
        (_("Digest"), here.digest),
        (_("Collected"), format_moment(here.collected_at)),
        (_("Depth"), here.depth),
        (_("Links"), here.links),
        (_("First named by"), here.via),
    ]
    return [(name, str(value)) for name, value in rows if value not in (None, "")]
