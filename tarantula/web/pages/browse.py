"""The browse page: an item's archived pages with their metadata, the previous item and the differences."""

from __future__ import annotations

from nicegui import Client, ui
from nicegui.events import KeyEventArguments

from tarantula.archive.diff.items import DocumentChange
from tarantula.archive.diff.pages import DiffLine, DiffPiece, TextDiff
from tarantula.core.errors import TarantulaError
from tarantula.services import validation, walkthrough
from tarantula.services.context import ServiceContext
from tarantula.services.walkthrough import WalkthroughPage
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import section, small_table, text_element
from tarantula.web.components.items import browse_path, fact_list, item_navigation, review_list, state_label
from tarantula.web.i18n import _, format_moment, format_number, language, mark, set_language, translate_reason
from tarantula.web.layout import heading, page, show_error
from tarantula.web.replay.addresses import FrameMessage, ReplayFrame, copy_address, original_address

MAX_DIFF_LINES = 400
"""Maximum number of lines drawn."""
CHANGE_CLASSES = {DocumentChange.NEW: "bg-green-100 text-green-900", DocumentChange.GONE: "bg-red-100 text-red-900"}
CHANGE_ELEMENTS = {DocumentChange.NEW: "ins", DocumentChange.GONE: "del"}


def draw_text_diff(difference: TextDiff) -> None:
    """Show the changed parts of a text."""
    if difference.note:
        ui.label(_(difference.note)).classes("break-words")
    lines_left = MAX_DIFF_LINES
    for hunk in difference.hunks:
        if lines_left <= 0:
            ui.label(_("Only the first changes are shown."))
            return
        with ui.element("div").classes("w-full border-l-4 border-slate-300 pl-2 mb-3 text-sm"):
            for line in hunk[:lines_left]:
                _line(line)
        lines_left -= len(hunk)


def changed_lines(difference: TextDiff) -> list[str]:
    """Return the new and changed lines of the later text, as they appear on the page."""
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
"""Panels next to the page, by keyboard shortcut."""


class BrowsePanels:
    """Panels with details of the page; each is filled when it is first opened for a page."""

    def __init__(self, context: ServiceContext, client: Client, frame: ReplayFrame) -> None:
        self._context, self._client, self._frame = context, client, frame
        self._language = language()
        self._page: WalkthroughPage | None = None
        self._drawn: set[str] = set()
        with ui.tabs().classes("w-full").props("no-caps dense outside-arrows mobile-arrows") as self._tabs:
            for key, name in PANEL_LABELS.items():
                ui.tab(key, label=_(name))
        self._containers: dict[str, ui.element] = {}
        with ui.tab_panels(self._tabs, value="m", animated=False, keep_alive=True).classes("w-full"):
            for key in PANEL_LABELS:
                with ui.tab_panel(key).classes("p-2"):
                    self._containers[key] = ui.element("div").classes("w-full")
        self._tabs.on_value_change(lambda change: self._fill_panel(str(change.value)))

    def open(self, key: str) -> None:
        """Open a panel."""
        self._tabs.value = key

    async def show_page(self, page_view: WalkthroughPage) -> None:
        """Show the details of another page."""
        self._page = page_view
        # The review list is the same for all pages.
        self._drawn &= {"l"}
        await self._fill_panel(str(self._tabs.value))

    async def _fill_panel(self, panel: str) -> None:
        set_language(self._language)
        page_view = self._page
        if page_view is None or panel in self._drawn:
            return
        self._drawn.add(panel)
        container = self._containers[panel]
        container.clear()
        with container:
            ui.spinner(size="lg")
        try:
            draw = {
                "m": self._show_metadata,
                "b": self._show_previous,
                "c": self._show_differences,
                "l": self._show_review_list,
            }[panel]
            await draw(page_view, container)
        except TarantulaError as error:
            container.clear()
            with container:
                show_error(_(str(error)))

    async def _show_metadata(self, page_view: WalkthroughPage, container: ui.element) -> None:
        container.clear()
        with container:
            fact_list(_facts(page_view))
            if page_view.kept:
                original = original_address(self._client, page_view.urn, page_view.document_id)
                ui.link(_("Original response"), original, new_tab=True).props('rel="noreferrer"')
            if not page_view.copied and page_view.kept:
                ui.label(
                    _("The mirror has no copy: the page is shown without its requisites, and its links do not work.")
                )
            with section(_("Headers")):
                small_table(_("Headers"), [_("Name"), _("Value")], page_view.headers)

    async def _show_previous(self, page_view: WalkthroughPage, container: ui.element) -> None:
        container.clear()
        with container:
            if page_view.before is None:
                ui.label(_("This is the first item of its publication."))
                return
            ui.label(_(CHANGE_LABELS[DocumentChange(page_view.before.change)]))
            if page_view.before.document_id is None:
                return
            ui.link(page_view.before.urn, browse_path(page_view.before.urn, page_view.before.document_id))
            ui.label(_("Collected: {moment}", moment=format_moment(page_view.before.collected_at))).classes("text-sm")
            with ui.element("div").classes("w-full h-[65vh] border border-slate-400"):
                frame = ReplayFrame(_("The same page in the previous item"))
            frame.show(copy_address(self._client, page_view.before.urn, page_view.before.document_id))
        await self._compare(page_view)

    async def _show_differences(self, page_view: WalkthroughPage, container: ui.element) -> None:
        difference = await self._compare(page_view)
        set_language(self._language)
        if page_view is self._page:
            container.clear()
            with container:
                draw_text_diff(difference)

    async def _compare(self, page_view: WalkthroughPage) -> TextDiff:
        """Return the differences of a page and mark them in its frame, unless another page is shown by now."""
        difference = await run_in_thread(
            walkthrough.compare_with_previous, self._context, page_view.urn, page_view.document_id
        )
        if page_view is self._page:
            self._frame.mark_lines(changed_lines(difference))
        return difference

    async def _show_review_list(self, page_view: WalkthroughPage, container: ui.element) -> None:
        found = await run_in_thread(validation.item_attention, self._context, page_view.urn)
        set_language(self._language)
        container.clear()
        with container:
            for rule in found.rules:
                ui.label(translate_reason(rule.reason_code, rule.reason_parameters)).classes("text-sm")
            review_list(found.looks)
            if not found.looks:
                ui.label(_("Nothing needs review."))


def _facts(page_view: WalkthroughPage) -> list[tuple[str, str]]:
    rows: list[tuple[str, object]] = [
        (_("URL"), page_view.url),
        (_("Title"), page_view.title),
        (_("State"), f"{page_view.state} ({state_label(page_view.state)})"),
        (_("Reason"), translate_reason(page_view.reason_code, page_view.reason_parameters)),
        (_("Type"), page_view.type),
        (_("Charset"), page_view.charset),
        (_("Bytes"), format_number(page_view.size) if page_view.size is not None else None),
        (_("Digest"), page_view.digest),
        (_("Collected"), format_moment(page_view.collected_at)),
        (_("Depth"), page_view.depth),
        (_("Links"), page_view.links),
        (_("First linked from"), page_view.via),
    ]
    return [(name, str(value)) for name, value in rows if value not in (None, "")]


class ItemBrowser:
    """The current page of an item, with navigation and panels."""

    def __init__(self, context: ServiceContext, urn: str, client: Client) -> None:
        self._context, self._urn, self._client = context, urn, client
        self._language = language()
        self._page: WalkthroughPage | None = None
        self._toolbar()
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-2 gap-4"):
            with ui.element("section").classes("min-w-0").props(f'aria-label="{_("The page")}"'):
                self._title = ui.label().props('role="heading" aria-level="2"').classes("text-lg break-words")
                self._url = ui.label().classes("text-sm break-all")
                self._notice = ui.label().classes("text-sm text-red-800 break-all").props('role="status"')
                with ui.element("div").classes("w-full h-[70vh] border border-slate-400"):
                    self._frame = ReplayFrame(_("The archived page"), self._on_message)
            with ui.element("section").classes("min-w-0").props(f'aria-label="{_("About the page")}"'):
                self._panels = BrowsePanels(context, client, self._frame)

    def start_at(self, document_id: int) -> None:
        """Show the first page after the client has connected."""
        ui.timer(0, lambda: self.go(document_id), once=True)

    async def go(self, document_id: int | None, *, followed: bool = False) -> None:
        """Show a document; if the reader *followed* a link in the frame, it is already displayed."""
        set_language(self._language)
        if document_id is None:
            self._notice.text = _("There is no further page.")
            return
        try:
            page_view = await run_in_thread(walkthrough.get_page, self._context, self._urn, document_id)
        except TarantulaError as error:
            self._notice.text = _(str(error))
            return
        self._page = page_view
        self._title.text = page_view.title or page_view.url
        self._url.text = page_view.url
        reason = "" if page_view.kept else translate_reason(page_view.reason_code, page_view.reason_parameters)
        self._notice.text = _(page_view.trouble) or reason
        self._position.text = _("Page {number} of {total}", number=page_view.number, total=page_view.total)
        self._previous_button.set_enabled(page_view.previous_id is not None)
        self._next_button.set_enabled(page_view.next_id is not None)
        with self._client:
            ui.navigate.history.replace(browse_path(self._urn, page_view.document_id))
        if followed:
            self._frame.mark_lines([])
        else:
            self._frame.show(copy_address(self._client, self._urn, page_view.document_id) if page_view.kept else "")
        await self._panels.show_page(page_view)

    def _toolbar(self) -> None:
        with ui.row().classes("items-center gap-2 mb-2").props(f'role="toolbar" aria-label="{_("Pages")}"'):
            self._previous_button = ui.button(_("Previous"), icon="arrow_back", on_click=self._previous).props(
                "no-caps"
            )
            self._next_button = ui.button(_("Next"), icon="arrow_forward", on_click=self._next).props("no-caps")
            self._position = ui.label().props('role="status"')
            self._shortcuts = ui.switch(_("Keyboard shortcuts"), value=True)
            ui.label(_("n next, p previous, m about, b previous item, c differences, l review first")).classes(
                "text-sm"
            )
        ui.keyboard(on_key=self._on_key, ignore=["input", "select", "textarea"], repeating=False)

    async def _on_message(self, message: FrameMessage) -> None:
        """Handle a message of an archived page, which can only navigate within the item."""
        if message.kind == "key":
            await self._handle_key(message.text)
        elif message.kind == "leads":
            set_language(self._language)
            self._notice.text = _("This link leaves the item: {url}", url=message.text)
        elif message.kind == "place":
            shown = await run_in_thread(walkthrough.document_at_replay_path, self._context, self._urn, message.text)
            if shown is not None and self._page is not None and shown != self._page.document_id:
                await self.go(shown, followed=True)

    async def _on_key(self, event: KeyEventArguments) -> None:
        if event.action.keydown and not (event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta):
            await self._handle_key(str(event.key))

    async def _handle_key(self, key: str) -> None:
        if not self._shortcuts.value:
            return
        if key == "n":
            await self._next()
        elif key == "p":
            await self._previous()
        elif key in PANEL_LABELS:
            self._panels.open(key)

    async def _next(self) -> None:
        await self.go(self._page.next_id if self._page else None)

    async def _previous(self) -> None:
        await self.go(self._page.previous_id if self._page else None)


@page("/items/{urn}/browse", mark("Browse"))
async def browse_page(context: ServiceContext, urn: str, document: str = "") -> None:
    """Show the pages of an item, starting with the given document or the base document."""
    heading(_("Browse {urn}", urn=urn))
    item_navigation(urn, "/browse")
    number = await run_in_thread(_first_document, context, urn, document)
    ItemBrowser(context, urn, ui.context.client).start_at(number)


def _first_document(context: ServiceContext, urn: str, document: str) -> int:
    if not document:
        return walkthrough.first_document(context, urn)
    if not (document.isascii() and document.isdigit()):
        raise TarantulaError("{document!r} is not the number of a document.", document=document[:40])
    return int(document)
