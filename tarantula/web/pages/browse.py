"""The browse page: an item"s archived pages beside their metadata, the previous item and the differences."""

from __future__ import annotations

from asyncio import to_thread

from nicegui import Client, ui
from nicegui.events import KeyEventArguments

from tarantula.archive.diff.items import DocumentChange
from tarantula.archive.diff.text import DiffLine, DiffPiece, TextDiff
from tarantula.core.errors import TarantulaError
from tarantula.services import validation, walkthrough
from tarantula.services.context import ServiceContext
from tarantula.services.walkthrough import WalkthroughPage
from tarantula.web.components.elements import section, small_table, text_element
from tarantula.web.components.items import browse_path, fact_list, item_navigation, review_list, state_label
from tarantula.web.format import format_moment, format_number
from tarantula.web.i18n import _, language, mark, set_language, translate_sentence
from tarantula.web.layout import heading, page, show_error
from tarantula.web.replay.addresses import copy_address, original_address
from tarantula.web.replay.frame import FrameMessage, ReplayFrame

MAX_DIFF_LINES = 400
"""Lines that are drawn."""
CHANGE_CLASSES = {DocumentChange.NEW: "bg-green-100 text-green-900", DocumentChange.GONE: "bg-red-100 text-red-900"}
CHANGE_ELEMENTS = {DocumentChange.NEW: "ins", DocumentChange.GONE: "del"}


def draw_text_diff(difference: TextDiff) -> None:
    """Show the changed places of a text."""
    if difference.note:
        ui.label(translate_sentence(difference.note)).classes("break-words")
    left = MAX_DIFF_LINES
    for hunk in difference.hunks:
        if left <= 0:
            ui.label(_("Only the first changes are shown."))
            return
        with ui.element("div").classes("w-full border-l-4 border-slate-300 pl-2 mb-3 text-sm"):
            for line in hunk[:left]:
                _line(line)
        left -= len(hunk)


def changed_lines(difference: TextDiff) -> list[str]:
    """Return the lines of the later text that are new or have changed, as its readers see them."""
    return [
        text
        for hunk in difference.hunks
        for line in hunk
        if line.change in (DocumentChange.NEW, DocumentChange.CHANGED)
        if (text := "".join(piece.text for piece in line.pieces if piece.change != DocumentChange.GONE))
    ]


def _line(line: DiffLine) -> None:
    with ui.element("div").classes("break-words"):
        for piece in line.pieces:
            _piece(piece)


def _piece(piece: DiffPiece) -> None:
    change = DocumentChange(piece.change)
    text_element(
        CHANGE_ELEMENTS.get(change, "span"), piece.text, f"whitespace-pre-wrap {CHANGE_CLASSES.get(change, '')}"
    )


CHANGE_LABELS = {
    DocumentChange.NEW: mark("The previous item does not have it."),
    DocumentChange.CHANGED: mark("Changed since the previous item."),
    DocumentChange.SAME: mark("Unchanged since the previous item."),
    DocumentChange.GONE: mark("The previous item has it, this one does not."),
}
PANEL_LABELS = {"m": mark("About"), "b": mark("Previous item"), "c": mark("Differences"), "l": mark("Review first")}
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
                ui.link(_("Original response"), original, new_tab=True).props('rel="noreferrer"')
            if not here.copied and here.kept:
                ui.label(
                    _("The mirror has no copy: the page is shown without its requisites, and its links do not work.")
                )
            with section(_("Headers")):
                small_table(_("Headers"), [_("Name"), _("Value")], here.headers)

    async def _before(self, here: WalkthroughPage, place: ui.element) -> None:
        place.clear()
        with place:
            if here.before is None:
                ui.label(_("This is the first item of its publication."))
                return
            ui.label(_(CHANGE_LABELS[DocumentChange(here.before.change)]))
            if here.before.document_id is None:
                return
            ui.link(here.before.urn, browse_path(here.before.urn, here.before.document_id))
            ui.label(_("Collected: {moment}", moment=format_moment(here.before.collected_at))).classes("text-sm")
            with ui.element("div").classes("w-full h-[65vh] border border-slate-400"):
                frame = ReplayFrame(_("The same page in the previous item"))
            frame.show(copy_address(self._client, here.before.urn, here.before.document_id))
        await self._compared(here)

    async def _changes(self, here: WalkthroughPage, place: ui.element) -> None:
        difference = await self._compared(here)
        set_language(self._language)
        if here is self._here:
            place.clear()
            with place:
                draw_text_diff(difference)

    async def _compared(self, here: WalkthroughPage) -> TextDiff:
        """Return what changed in a page, and mark it there, unless its reader has gone on."""
        difference = await to_thread(walkthrough.compare_with_previous, self._desk, here.urn, here.document_id)
        if here is self._here:
            self._frame.mark_lines(changed_lines(difference))
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
                ui.label(_("Nothing needs review."))


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
        (_("First linked from"), here.via),
    ]
    return [(name, str(value)) for name, value in rows if value not in (None, "")]


class ItemBrowser:
    """Where somebody is in an item, and what is shown of it."""

    def __init__(self, desk: ServiceContext, urn: str, client: Client) -> None:
        self._desk, self._urn, self._client = desk, urn, client
        self._language = language()
        self._here: WalkthroughPage | None = None
        self._bar()
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-2 gap-4"):
            with ui.element("section").classes("min-w-0").props(f'aria-label="{_("The page")}"'):
                self._title = ui.label().props('role="heading" aria-level="2"').classes("text-lg break-words")
                self._url = ui.label().classes("text-sm break-all")
                self._notice = ui.label().classes("text-sm text-red-800 break-all").props('role="status"')
                with ui.element("div").classes("w-full h-[70vh] border border-slate-400"):
                    self._frame = ReplayFrame(_("The archived page"), self._heard)
            with ui.element("section").classes("min-w-0").props(f'aria-label="{_("About the page")}"'):
                self._panels = BrowsePanels(desk, client, self._frame)

    def begin_at(self, document_id: int) -> None:
        """Show the first page when the reader is there."""
        ui.timer(0, lambda: self.go(document_id), once=True)

    async def go(self, document_id: int | None, *, followed: bool = False) -> None:
        """Show a document; one that a link was followed to is shown already."""
        set_language(self._language)
        if document_id is None:
            self._notice.text = _("There is no further page.")
            return
        try:
            here = await to_thread(walkthrough.get_page, self._desk, self._urn, document_id)
        except TarantulaError as error:
            self._notice.text = translate_sentence(str(error))
            return
        self._here = here
        self._title.text = here.title or here.url
        self._url.text = here.url
        self._notice.text = translate_sentence(here.trouble or ("" if here.kept else here.reason))
        self._number.text = _("Page {number} of {total}", number=here.number, total=here.total)
        self._back.set_enabled(here.previous_id is not None)
        self._on.set_enabled(here.next_id is not None)
        with self._client:
            ui.navigate.history.replace(browse_path(self._urn, here.document_id))
        if followed:
            self._frame.mark_lines([])
        else:
            self._frame.show(copy_address(self._client, self._urn, here.document_id) if here.kept else "")
        await self._panels.tell_of(here)

    def _bar(self) -> None:
        with ui.row().classes("items-center gap-2 mb-2").props(f'role="toolbar" aria-label="{_("Pages")}"'):
            self._back = ui.button(_("Previous"), icon="arrow_back", on_click=self._previous).props("no-caps")
            self._on = ui.button(_("Next"), icon="arrow_forward", on_click=self._next).props("no-caps")
            self._number = ui.label().props('role="status"')
            self._keys = ui.switch(_("Keyboard shortcuts"), value=True)
            ui.label(_("n next, p previous, m about, b previous item, c differences, l review first")).classes(
                "text-sm"
            )
        ui.keyboard(on_key=self._pressed, ignore=["input", "select", "textarea"], repeating=False)

    async def _heard(self, said: FrameMessage) -> None:
        """Hear an archived page: it can move its reader about in the item, and no more than that."""
        if said.kind == "key":
            await self._press(said.text)
        elif said.kind == "leads":
            set_language(self._language)
            self._notice.text = _("This link leaves the item: {url}", url=said.text)
        elif said.kind == "place":
            shown = await to_thread(walkthrough.document_at_replay_path, self._desk, self._urn, said.text)
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
        elif key in PANEL_LABELS:
            self._panels.choose(key)

    async def _next(self) -> None:
        await self.go(self._here.next_id if self._here else None)

    async def _previous(self) -> None:
        await self.go(self._here.previous_id if self._here else None)


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
