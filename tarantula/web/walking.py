"""A walk through an item: the page in its frame, what is told of it beside it, and the ways on."""

from __future__ import annotations

from asyncio import to_thread

from nicegui import Client, ui
from nicegui.events import KeyEventArguments

from tarantula.archive.delta import Change
from tarantula.errors import TarantulaError
from tarantula.management import browsing, decisions
from tarantula.management.browsing import Browsed
from tarantula.management.desk import Desk
from tarantula.web import differences
from tarantula.web.figures import moment, number
from tarantula.web.frame import complain
from tarantula.web.item_parts import facts, state_words
from tarantula.web.look_list import browse_address, draw_looks
from tarantula.web.parts import few_rows, section
from tarantula.web.replay import copy_address, original_address
from tarantula.web.retelling import retold
from tarantula.web.sealed_frame import Said, SealedFrame
from tarantula.web.words import _, language, mark, use

CHANGES = {
    Change.NEW: mark("The item before did not collect it."),
    Change.CHANGED: mark("It changed since the item before."),
    Change.SAME: mark("It is the same as in the item before."),
    Change.GONE: mark("The item before collected it, and this one did not."),
}
PANELS = {"m": mark("About"), "b": mark("Item before"), "c": mark("What changed"), "l": mark("To look at first")}
"""What stands beside the page, by the key that shows it."""


class Walk:
    """Where somebody is in an item, and what is shown of it."""

    def __init__(self, desk: Desk, urn: str, client: Client) -> None:
        self._desk, self._urn, self._client = desk, urn, client
        self._language = language()
        self._here: Browsed | None = None
        self._drawn: set[str] = set()
        self._bar()
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-2 gap-4"):
            with ui.element("section").classes("min-w-0").props(f'aria-label="{_("The page")}"'):
                self._title = ui.label().props('role="heading" aria-level="2"').classes("text-lg break-words")
                self._url = ui.label().classes("text-sm break-all")
                self._notice = ui.label().classes("text-sm text-red-800 break-all").props('role="status"')
                with ui.element("div").classes("w-full h-[70vh] border border-slate-400"):
                    self._frame = SealedFrame(_("The archived page"), self._heard)
            with ui.element("section").classes("min-w-0").props(f'aria-label="{_("About the page")}"'):
                self._beside()

    def begin_at(self, document_id: int) -> None:
        """Show the first page when the reader is there."""
        ui.timer(0, lambda: self.go(document_id), once=True)

    async def go(self, document_id: int | None, *, followed: bool = False) -> None:
        """Show a document; one that a link was followed to is shown already."""
        use(self._language)
        if document_id is None:
            self._notice.text = _("There is no page further on.")
            return
        try:
            here = await to_thread(browsing.browsed, self._desk, self._urn, document_id)
        except TarantulaError as error:
            self._notice.text = retold(str(error))
            return
        self._here = here
        self._drawn.clear()
        self._title.text = here.title or here.url
        self._url.text = here.url
        self._notice.text = retold(here.trouble or ("" if here.kept else here.reason))
        self._number.text = _("Page {number} of {total}", number=here.number, total=here.total)
        self._back.set_enabled(here.previous_id is not None)
        self._on.set_enabled(here.next_id is not None)
        with self._client:
            ui.navigate.history.replace(browse_address(self._urn, here.document_id))
        if not followed:
            self._frame.show(copy_address(self._client, self._urn, here.document_id) if here.kept else "")
        await self._fill(str(self._tabs.value))

    def _bar(self) -> None:
        with ui.row().classes("items-center gap-2 mb-2").props(f'role="toolbar" aria-label="{_("Pages")}"'):
            self._back = ui.button(_("Previous"), icon="arrow_back", on_click=self._previous).props("no-caps")
            self._on = ui.button(_("Next"), icon="arrow_forward", on_click=self._next).props("no-caps")
            self._number = ui.label().props('role="status"')
            self._keys = ui.switch(_("Keys move"), value=True)
            ui.label(_("n next, p previous, m about, b item before, c what changed, l to look at first")).classes(
                "text-sm"
            )
        ui.keyboard(on_key=self._pressed, ignore=["input", "select", "textarea"], repeating=False)

    def _beside(self) -> None:
        with ui.tabs().classes("w-full").props("no-caps dense outside-arrows mobile-arrows") as self._tabs:
            for key, name in PANELS.items():
                ui.tab(key, label=_(name))
        self._panels = {}
        with ui.tab_panels(self._tabs, value="m", animated=False, keep_alive=True).classes("w-full"):
            for key in PANELS:
                with ui.tab_panel(key).classes("p-2"):
                    self._panels[key] = ui.element("div").classes("w-full")
        self._tabs.on_value_change(lambda change: self._fill(str(change.value)))

    async def _fill(self, panel: str) -> None:
        """Draw what stands beside the page, when somebody looks at it."""
        use(self._language)
        here = self._here
        if here is None or panel in self._drawn:
            return
        self._drawn.add(panel)
        place = self._panels[panel]
        place.clear()
        with place:
            ui.spinner(size="lg")
        try:
            draw = {"m": self._about, "b": self._before, "c": self._changes, "l": self._looks}[panel]
            await draw(here)
        except TarantulaError as error:
            place.clear()
            with place:
                complain(retold(str(error)))

    async def _about(self, here: Browsed) -> None:
        self._panels["m"].clear()
        with self._panels["m"]:
            facts(_facts(here))
            if here.kept:
                original = original_address(self._client, self._urn, here.document_id)
                ui.link(_("The bytes as they were sent"), original, new_tab=True).props('rel="noreferrer"')
            if not here.copied and here.kept:
                ui.label(
                    _("The mirror has no copy of it: it is shown without what it needs, and its links lead nowhere.")
                )
            with section(_("Headers")):
                few_rows(_("Headers"), [_("Name"), _("Value")], here.headers)

    async def _before(self, here: Browsed) -> None:
        self._panels["b"].clear()
        with self._panels["b"]:
            if here.before is None:
                ui.label(_("It is the first item of its publication."))
                return
            ui.label(_(CHANGES[Change(here.before.change)]))
            if here.before.document_id is None:
                return
            ui.link(here.before.urn, browse_address(here.before.urn, here.before.document_id))
            ui.label(_("Collected: {moment}", moment=moment(here.before.collected_at))).classes("text-sm")
            with ui.element("div").classes("w-full h-[65vh] border border-slate-400"):
                frame = SealedFrame(_("The same page in the item before"))
            frame.show(copy_address(self._client, here.before.urn, here.before.document_id))
        await self._mark(here)

    async def _changes(self, here: Browsed) -> None:
        difference = await to_thread(browsing.compared, self._desk, self._urn, here.document_id)
        use(self._language)
        self._panels["c"].clear()
        with self._panels["c"]:
            differences.draw(difference)
        self._frame.mark_lines(differences.marks_of(difference))

    async def _mark(self, here: Browsed) -> None:
        """Mark in the page what is not in that of the item before."""
        difference = await to_thread(browsing.compared, self._desk, self._urn, here.document_id)
        self._frame.mark_lines(differences.marks_of(difference))

    async def _looks(self, here: Browsed) -> None:
        found = await to_thread(decisions.attention, self._desk, self._urn)
        use(self._language)
        self._panels["l"].clear()
        with self._panels["l"]:
            for rule in found.rules:
                ui.label(retold(rule.reason)).classes("text-sm")
            draw_looks(found.looks)
            if not found.looks:
                ui.label(_("Nothing stands out."))

    async def _heard(self, said: Said) -> None:
        """Hear an archived page: it can move its reader about in the item, and no more than that."""
        if said.kind == "key":
            await self._press(said.text)
        elif said.kind == "leads":
            use(self._language)
            self._notice.text = _("This link leads out of the item, to {url}", url=said.text)
        elif said.kind == "place":
            shown = await to_thread(browsing.at_place, self._desk, self._urn, said.text)
            if shown is not None and self._here is not None and shown != self._here.document_id:
                await self.go(shown, followed=True)

    async def _pressed(self, event: KeyEventArguments) -> None:
        if event.action.keydown and not (event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta):
            await self._press(str(event.key))

    async def _press(self, key: str) -> None:
        if not self._keys.value:
            return
        if key == "n":
            await self._next()
        elif key == "p":
            await self._previous()
        elif key in PANELS:
            self._tabs.value = key

    async def _next(self) -> None:
        await self.go(self._here.next_id if self._here else None)

    async def _previous(self) -> None:
        await self.go(self._here.previous_id if self._here else None)


def _facts(here: Browsed) -> list[tuple[str, str]]:
    rows: list[tuple[str, object]] = [
        (_("URL"), here.url),
        (_("Title"), here.title),
        (_("State"), f"{here.state} ({state_words(here.state)})"),
        (_("Reason"), retold(here.reason)),
        (_("Type"), here.type),
        (_("Charset"), here.charset),
        (_("Bytes"), number(here.size) if here.size is not None else None),
        (_("Digest"), here.digest),
        (_("Collected"), moment(here.collected_at)),
        (_("Depth"), here.depth),
        (_("Links"), here.links),
        (_("First named by"), here.via),
    ]
    return [(name, str(value)) for name, value in rows if value not in (None, "")]
