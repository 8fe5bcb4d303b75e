"""A walk through an item: the page in its frame, and the ways on."""

from __future__ import annotations

from asyncio import to_thread

from nicegui import Client, ui
from nicegui.events import KeyEventArguments

from tarantula.core.errors import TarantulaError
from tarantula.services import walkthrough
from tarantula.services.context import ServiceContext
from tarantula.services.walkthrough import WalkthroughPage
from tarantula.web.components.items_part_look_list import browse_path
from tarantula.web.i18n import _, language, set_language
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.pages.browse_part_walk_panels import PANEL_LABELS, BrowsePanels
from tarantula.web.replay.addresses import copy_address
from tarantula.web.replay.frame import FrameMessage, ReplayFrame


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
            self._notice.text = _("There is no page further on.")
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
            self._keys = ui.switch(_("Keys move"), value=True)
            ui.label(_("n next, p previous, m about, b item before, c what changed, l to look at first")).classes(
                "text-sm"
            )
        ui.keyboard(on_key=self._pressed, ignore=["input", "select", "textarea"], repeating=False)

    async def _heard(self, said: FrameMessage) -> None:
        """Hear an archived page: it can move its reader about in the item, and no more than that."""
        if said.kind == "key":
            await self._press(said.text)
        elif said.kind == "leads":
            set_language(self._language)
            self._notice.text = _("This link leads out of the item, to {url}", url=said.text)
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
