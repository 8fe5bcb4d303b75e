"""The board of view cards: order, drag and drop, card menus, live updates."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from nicegui import background_tasks, ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.streams import views
from tarantula.services.streams.views import ViewRow
from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.components.alerts import notify_alert_saved, open_alert_form
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import icon_button, text_element
from tarantula.web.components.forms import VIEW_KIND_ICONS, VIEW_KIND_LABELS, dialog, dialog_buttons
from tarantula.web.dashboard.pane import ViewPane
from tarantula.web.dashboard.view_form import ViewForm
from tarantula.web.i18n import _, language, set_language
from tarantula.web.live import SourceChanges, SourceListener, source_poller

HANDLE_CLASS = "card-handle"
"""CSS class of the element by which a card is dragged."""

CardAction = Callable[["ViewCard"], Awaitable[None]]


class CardActions(NamedTuple):
    """Callbacks of the buttons and menus of a card."""

    move: Callable[[ViewCard, int], Awaitable[None]]
    show_as: Callable[[ViewCard, ViewKind], Awaitable[None]]
    edit: CardAction
    watch: Callable[[ViewCard, str], Awaitable[None]]
    fold: CardAction
    share: CardAction
    remove: CardAction


class ViewCard:
    """A view on the dashboard."""

    def __init__(
        self, context: ServiceContext, row: ViewRow, actions: CardActions, on_shown: Callable[[], None]
    ) -> None:
        self.row = row
        self._actions, self._on_shown, self._language = actions, on_shown, language()
        self.lock = Lock()
        """Lock that keeps quick actions on one card in order."""
        with ui.card().tight().classes("w-full min-w-0").props("flat bordered") as self.element:
            self.element.props('role="article"')
            self._header()
            self.pane = ViewPane(context, row.view, self._show)
        self.pane.element.set_visibility(not row.view.folded)

    @property
    def projection(self) -> ViewProjection | None:
        """The data that the card shows."""
        return self.pane.projection

    def set_view(self, row: ViewRow) -> None:
        """Replace the view of the card."""
        self.row = row
        self.pane.set_view(row.view)
        self.pane.element.set_visibility(not row.view.folded)
        _update_fold_button(self._fold, row)

    async def refresh(self) -> None:
        """Reload the data."""
        await self.pane.refresh()

    async def tick(self) -> None:
        """Move the time window to the present."""
        if not self.row.view.folded:
            await self.pane.tick()

    def _show(self, projection: ViewProjection) -> None:
        self._title.text = projection.title
        self.element.props["aria-label"] = projection.title
        self._on_shown()

    def _header(self) -> None:
        actions = self._actions
        with ui.row().classes("w-full items-center gap-0 flex-nowrap bg-slate-100 pl-1"):
            self.handle = icon_button("drag_indicator", _("Move: drag it, or use the arrow keys"))
            self.handle.classes(f"{HANDLE_CLASS} cursor-move")
            for key, by in (("left", -1), ("up", -1), ("right", 1), ("down", 1)):
                self.handle.on(f"keydown.{key}.prevent", partial(actions.move, self, by))
            self._title = text_element(
                "h2", ", ".join(self.row.view.sources), "text-base font-bold m-0 grow min-w-0 truncate"
            )
            self._menu("insert_chart", _("Show as"), self._kinds, lambda: None)
            icon_button("tune", _("Edit")).on_click(lambda: actions.edit(self))
            self._fold = icon_button("unfold_less", _("Collapse or expand")).on_click(lambda: actions.fold(self))
            _update_fold_button(self._fold, self.row)
            self._menu("more_vert", _("More"), self._more, lambda: (self.row.view.sources, self.row.shared))

    def _menu(self, icon: str, label: str, fill: Callable[[], None], about: Callable[[], object]) -> None:
        """Show a button with a menu that is built when it is first opened, since a dashboard has many menus.

        The menu is built again only if *about* has changed, so that a second click does not replace items in use.
        """
        built_for: list[object] = []

        def open_menu() -> None:
            set_language(self._language)
            if built_for != [about()]:
                built_for[:] = [about()]
                menu.clear()
                with menu:
                    fill()
            menu.open()

        with icon_button(icon, label).props("aria-haspopup=menu").on_click(open_menu):
            menu = ui.menu().props("auto-close no-parent-event role=menu")

    def _kinds(self) -> None:
        for kind, label in VIEW_KIND_LABELS.items():
            with _item(partial(self._actions.show_as, self, kind)), ui.row().classes("items-center gap-2"):
                ui.icon(VIEW_KIND_ICONS[kind])
                ui.label(_(label))

    def _more(self) -> None:
        for name in self.row.view.sources:
            target = f"/sources/{quote(name)}"
            with _item(partial(ui.navigate.to, target)):
                ui.label(_("Source {name}", name=name))
            with _item(partial(self._actions.watch, self, name)):
                ui.label(_("New alert on {name}", name=name))
        with _item(lambda: self._actions.share(self)):
            ui.label(_("Stop sharing") if self.row.shared else _("Share with others"))
        with _item(lambda: self._actions.remove(self)):
            ui.label(_("Remove"))


def _item(act: Callable[[], Any]) -> ui.menu_item:
    return ui.menu_item(on_click=act).props("role=menuitem")


def _update_fold_button(button: ui.button, row: ViewRow) -> None:
    button.set_icon("unfold_more" if row.view.folded else "unfold_less")
    button.props(f'aria-expanded="{str(not row.view.folded).lower()}"')


WINDOW_MOVE_SECONDS = 5.0
"""Interval at which windows that follow the present move, even without new readings."""


class Board:
    """The cards of a dashboard, in order."""

    def __init__(self, context: ServiceContext, on_fired: Callable[[], Awaitable[None]] | None = None) -> None:
        self._context, self._language, self._on_fired = context, language(), on_fired
        self._cards: list[ViewCard] = []
        self._listener = SourceListener(self._on_changes)
        empty = _("The dashboard is empty. Type above to find a source.")
        if context.person.role.allows(Role.CURATOR):
            empty += " " + _("Or follow a value on a page: enter its address and click the value.")
        self._empty = text_element("p", empty, "")
        self._empty.set_visibility(False)
        self._grid = ui.grid().classes("w-full grid-cols-1 md:grid-cols-2 gap-3 items-start")
        self._grid.make_sortable(handle=f".{HANDLE_CLASS}", on_end=self._moved)
        self._actions = CardActions(
            self._move, self._show_as, self._edit, self._alert, self._fold, self._share, self._remove
        )
        self._client = ui.context.client
        self._client.on_delete(lambda: source_poller(context.database).remove(self._listener))
        ui.timer(0.01, self._begin, once=True)
        ui.timer(WINDOW_MOVE_SECONDS, self._tick)

    async def add(self, row: ViewRow) -> None:
        """Add a card for a new view at the start."""
        set_language(self._language)
        card = self._card(row)
        card.element.move(self._grid, 0)
        self._cards.insert(0, card)
        self._empty.set_visibility(False)
        await card.refresh()

    async def _begin(self) -> None:
        set_language(self._language)
        with notify_errors():
            rows = await run_in_thread(views.list_dashboard, self._context)
            self._cards = [self._card(row) for row in rows]
            self._empty.set_visibility(not rows)
            source_poller(self._context.database).add(self._listener)
            # From top to bottom, in reading order.
            for card in self._cards:
                await card.refresh()

    def _card(self, row: ViewRow) -> ViewCard:
        with self._grid:
            return ViewCard(self._context, row, self._actions, self._update_listener)

    def _update_listener(self) -> None:
        """Listen for changes of the displayed sources, from the oldest data that any card shows."""
        shown = [card.projection.stamps for card in self._cards if card.projection is not None]
        stamps = dict[int, int]()
        for one in shown:
            for number, stamp in one.items():
                stamps[number] = min(stamp, stamps.get(number, stamp))
        self._listener.stamps = stamps

    def _on_changes(self, changes: SourceChanges) -> None:
        changed = [
            card
            for card in self._cards
            if card.projection is not None and changes.sources & card.projection.stamps.keys()
        ]
        with self._client:
            for card in changed:
                background_tasks.create(card.refresh())
            if changes.fired and self._on_fired is not None:
                background_tasks.create(self._report_firing())

    async def _report_firing(self) -> None:
        set_language(self._language)
        assert self._on_fired is not None
        await self._on_fired()

    async def _tick(self) -> None:
        for card in list(self._cards):
            await card.tick()

    async def _moved(self) -> None:
        order = [child.id for child in self._grid]
        self._cards.sort(key=lambda card: order.index(card.element.id))
        await self._save_order()

    async def _move(self, card: ViewCard, by: int) -> None:
        index = self._cards.index(card)
        target = min(max(index + by, 0), len(self._cards) - 1)
        if target != index:
            self._cards.insert(target, self._cards.pop(index))
            card.element.move(self._grid, target)
            await self._save_order()
            # Keep the keyboard focus on the handle.
            ui.run_javascript(f"setTimeout(() => getHtmlElement({card.handle.id})?.focus(), 50)")

    async def _save_order(self) -> None:
        with notify_errors():
            await run_in_thread(views.arrange_views, self._context, [card.row.id for card in self._cards])

    async def _edit(self, card: ViewCard) -> None:
        async def store(fields: dict[str, Any]) -> None:
            async with card.lock:
                card.set_view(await run_in_thread(views.edit_view, self._context, card.row.id, fields))
            await card.refresh()

        set_language(self._language)
        with self._client.content:
            await ViewForm(self._context, card.row.view, store).open()

    async def _alert(self, card: ViewCard, source: str) -> None:
        set_language(self._language)
        with self._client.content, notify_errors():
            await open_alert_form(self._context, None, notify_alert_saved, source)

    async def _show_as(self, card: ViewCard, kind: ViewKind) -> None:
        set_language(self._language)
        with notify_errors():
            async with card.lock:
                card.set_view(await run_in_thread(views.edit_view, self._context, card.row.id, {"kind": kind}))
            await card.refresh()

    async def _fold(self, card: ViewCard) -> None:
        set_language(self._language)
        with notify_errors():
            async with card.lock:
                folded = not card.row.view.folded
                await run_in_thread(views.fold_view, self._context, card.row.id, folded)
                view = card.row.view.model_copy(update={"folded": folded})
                card.set_view(card.row.model_copy(update={"view": view}))
            await card.refresh()

    async def _share(self, card: ViewCard) -> None:
        set_language(self._language)
        with notify_errors():
            async with card.lock:
                row = await run_in_thread(views.share_view, self._context, card.row.id, not card.row.shared)
                card.set_view(row)
            await card.refresh()
            notify_done(
                _("Other accounts can now copy this view.") if row.shared else _("The view is no longer shared.")
            )

    async def _remove(self, card: ViewCard) -> None:
        async def remove() -> None:
            confirmation.close()
            with notify_errors():
                await run_in_thread(views.remove_view, self._context, card.row.id)
                self._cards.remove(card)
                card.element.delete()
                self._empty.set_visibility(not self._cards)
                self._update_listener()

        set_language(self._language)
        with self._client.content, dialog(_("Remove")) as confirmation:
            text_element("p", _("Remove this view from your dashboard? Its sources and their history are kept."))
            dialog_buttons(confirmation, _("Remove"), remove, icon="delete")
        confirmation.open()
