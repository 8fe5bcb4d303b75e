"""Somebody's views, side by side, each as it is now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import background_tasks, ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.streams import views
from tarantula.services.streams.views import ViewRow
from tarantula.streams.views.config import ViewKind
from tarantula.web.components.alerts import AlertForm
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms_part_dialogs import dialog, dialog_buttons
from tarantula.web.dashboard.board_part_card import HANDLE_CLASS, CardActions, ViewCard
from tarantula.web.dashboard.view_form_part_form import ViewForm
from tarantula.web.i18n import _, language, set_language
from tarantula.web.live_part_streams_live import SourceChanges, SourceListener, source_watcher

WINDOW_MOVE_SECONDS = 5.0
"""Seconds after which windows that follow the present have moved, though nothing was read."""


class Board:
    """The cards of a dashboard, in their order."""

    def __init__(self, desk: ServiceContext, fired: Callable[[], Awaitable[None]] | None = None) -> None:
        self._desk, self._spoken, self._fired = desk, language(), fired
        self._cards: list[ViewCard] = []
        self._listener = SourceListener(self._hear)
        empty = _("Nothing is here yet. Type a word above to find a source.")
        if desk.person.role.allows(Role.CURATOR):
            empty += " " + _("Or follow a value on a page that you know: give its address and point at it.")
        self._empty = text_element("p", empty, "")
        self._empty.set_visibility(False)
        self._grid = ui.grid().classes("w-full grid-cols-1 md:grid-cols-2 gap-3 items-start")
        self._grid.make_sortable(handle=f".{HANDLE_CLASS}", on_end=self._moved)
        self._acts = CardActions(
            self._move, self._show_as, self._edit, self._alert, self._fold, self._share, self._remove
        )
        self._client = ui.context.client
        self._client.on_delete(lambda: source_watcher(desk.database).remove(self._listener))
        ui.timer(0.01, self._begin, once=True)
        ui.timer(WINDOW_MOVE_SECONDS, self._tick)

    async def add(self, row: ViewRow) -> None:
        """Show a new view, before the others."""
        set_language(self._spoken)
        card = self._card(row)
        card.element.move(self._grid, 0)
        self._cards.insert(0, card)
        self._empty.set_visibility(False)
        await card.refresh()

    async def _begin(self) -> None:
        set_language(self._spoken)
        with notify_errors():
            rows = await run_in_thread(views.list_dashboard, self._desk)
            self._cards = [self._card(row) for row in rows]
            self._empty.set_visibility(not rows)
            source_watcher(self._desk.database).add(self._listener)
            # Those on top are seen first.
            for card in self._cards:
                await card.refresh()

    def _card(self, row: ViewRow) -> ViewCard:
        with self._grid:
            return ViewCard(self._desk, row, self._acts, self._watch)

    def _watch(self) -> None:
        """Listen for what the cards show; what was shown earlier stays known as it was."""
        shown = [card.sight.stamps for card in self._cards if card.sight is not None]
        stamps = dict[int, int]()
        for one in shown:
            for number, stamp in one.items():
                stamps[number] = min(stamp, stamps.get(number, stamp))
        self._listener.stamps = stamps

    def _hear(self, news: SourceChanges) -> None:
        changed = [card for card in self._cards if card.sight is not None and news.sources & card.sight.stamps.keys()]
        with self._client:
            for card in changed:
                background_tasks.create(card.refresh())
            if news.fired and self._fired is not None:
                background_tasks.create(self._told_fired())

    async def _told_fired(self) -> None:
        set_language(self._spoken)
        assert self._fired is not None
        await self._fired()

    async def _tick(self) -> None:
        for card in list(self._cards):
            await card.tick()

    async def _moved(self) -> None:
        order = [child.id for child in self._grid]
        self._cards.sort(key=lambda card: order.index(card.element.id))
        await self._keep_order()

    async def _move(self, card: ViewCard, by: int) -> None:
        place = self._cards.index(card)
        there = min(max(place + by, 0), len(self._cards) - 1)
        if there != place:
            self._cards.insert(there, self._cards.pop(place))
            card.element.move(self._grid, there)
            await self._keep_order()
            # Whoever uses keys goes on from where they are.
            ui.run_javascript(f"setTimeout(() => getHtmlElement({card.handle.id})?.focus(), 50)")

    async def _keep_order(self) -> None:
        with notify_errors():
            await run_in_thread(views.arrange_views, self._desk, [card.row.id for card in self._cards])

    async def _edit(self, card: ViewCard) -> None:
        async def store(fields: dict[str, Any]) -> None:
            async with card.turn:
                card.change(await run_in_thread(views.edit_view, self._desk, card.row.id, fields))
            await card.refresh()

        set_language(self._spoken)
        with self._client.content:
            await ViewForm(self._desk, card.row.view, store).open()

    async def _alert(self, card: ViewCard, source: str) -> None:
        set_language(self._spoken)
        with self._client.content:
            AlertForm(self._desk, None, lambda: notify_done(_("It is watched from now on.")), source).open()

    async def _show_as(self, card: ViewCard, kind: ViewKind) -> None:
        set_language(self._spoken)
        with notify_errors():
            async with card.turn:
                card.change(await run_in_thread(views.edit_view, self._desk, card.row.id, {"kind": kind}))
            await card.refresh()

    async def _fold(self, card: ViewCard) -> None:
        set_language(self._spoken)
        with notify_errors():
            async with card.turn:
                folded = not card.row.view.folded
                await run_in_thread(views.fold_view, self._desk, card.row.id, folded)
                view = card.row.view.model_copy(update={"folded": folded})
                card.change(card.row.model_copy(update={"view": view}))
            await card.refresh()

    async def _share(self, card: ViewCard) -> None:
        set_language(self._spoken)
        with notify_errors():
            async with card.turn:
                row = await run_in_thread(views.share_view, self._desk, card.row.id, not card.row.shared)
                card.change(row)
            await card.refresh()
            notify_done(
                _("Others can take this view over now.") if row.shared else _("This view is yours alone again.")
            )

    async def _remove(self, card: ViewCard) -> None:
        async def remove() -> None:
            asked.close()
            with notify_errors():
                await run_in_thread(views.remove_view, self._desk, card.row.id)
                self._cards.remove(card)
                card.element.delete()
                self._empty.set_visibility(not self._cards)
                self._watch()

        set_language(self._spoken)
        with self._client.content, dialog(_("Remove")) as asked:
            text_element("p", _("Take this view from your dashboard? Its source and what was read of it stay."))
            dialog_buttons(asked, _("Remove"), remove, icon="delete")
        asked.open()
