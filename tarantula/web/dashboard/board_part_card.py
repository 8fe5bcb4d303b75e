"""A view on a dashboard: its title, what can be done with it, and what it shows."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams.views import ViewRow
from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.components.elements_part_style import icon_button, text_element
from tarantula.web.components.labels import VIEW_KIND_ICONS, VIEW_KIND_LABELS
from tarantula.web.dashboard.pane import ViewPane
from tarantula.web.i18n import _, language, set_language

HANDLE_CLASS = "card-handle"
"""By which a card is dragged."""

CardAction = Callable[["ViewCard"], Awaitable[None]]


class CardActions(NamedTuple):
    """What whoever has the dashboard does with a card."""

    move: Callable[[ViewCard, int], Awaitable[None]]
    show_as: Callable[[ViewCard, ViewKind], Awaitable[None]]
    edit: CardAction
    watch: Callable[[ViewCard, str], Awaitable[None]]
    fold: CardAction
    share: CardAction
    remove: CardAction


class ViewCard:
    """One view on a dashboard."""

    def __init__(self, desk: ServiceContext, row: ViewRow, acts: CardActions, seen: Callable[[], None]) -> None:
        self.row = row
        self._acts, self._seen, self._spoken = acts, seen, language()
        self.turn = Lock()
        """Of what is done with it: somebody who is quick is obeyed in order."""
        with ui.card().tight().classes("w-full min-w-0").props("flat bordered") as self.element:
            self.element.props('role="article"')
            self._head()
            self.pane = ViewPane(desk, row.view, self._show)
        self.pane.element.set_visibility(not row.view.folded)

    @property
    def sight(self) -> ViewProjection | None:
        """What it shows."""
        return self.pane.sight

    def change(self, row: ViewRow) -> None:
        """Be another view, in the same place."""
        self.row = row
        self.pane.change(row.view)
        self.pane.element.set_visibility(not row.view.folded)
        _fold_button(self._fold, row)

    async def refresh(self) -> None:
        """Look again."""
        await self.pane.refresh()

    async def tick(self) -> None:
        """Let time pass."""
        if not self.row.view.folded:
            await self.pane.tick()

    def _show(self, sight: ViewProjection) -> None:
        self._title.text = sight.title
        self.element.props["aria-label"] = sight.title
        self._seen()

    def _head(self) -> None:
        acts = self._acts
        with ui.row().classes("w-full items-center gap-0 flex-nowrap bg-slate-100 pl-1"):
            self.handle = icon_button("drag_indicator", _("Move: drag it, or use the arrow keys"))
            self.handle.classes(f"{HANDLE_CLASS} cursor-move")
            for key, by in (("left", -1), ("up", -1), ("right", 1), ("down", 1)):
                self.handle.on(f"keydown.{key}.prevent", partial(acts.move, self, by))
            self._title = text_element(
                "h2", ", ".join(self.row.view.sources), "text-base font-bold m-0 grow min-w-0 truncate"
            )
            self._menu("insert_chart", _("Show as"), self._kinds, lambda: None)
            icon_button("tune", _("Edit")).on_click(lambda: acts.edit(self))
            self._fold = icon_button("unfold_less", _("Fold or unfold")).on_click(lambda: acts.fold(self))
            _fold_button(self._fold, self.row)
            self._menu("more_vert", _("More"), self._more, lambda: (self.row.view.sources, self.row.shared))

    def _menu(self, icon: str, words: str, fill: Callable[[], None], about: Callable[[], object]) -> None:
        """Show a button with a menu, which is made when somebody wants it: a dashboard has many, and hardly any is.

        It is made anew only when what it is about is another: who asks for it twice may have chosen from the first.
        """
        made: list[object] = []

        def open_it() -> None:
            set_language(self._spoken)
            if made != [about()]:
                made[:] = [about()]
                menu.clear()
                with menu:
                    fill()
            menu.open()

        with icon_button(icon, words).props("aria-haspopup=menu").on_click(open_it):
            menu = ui.menu().props("auto-close no-parent-event role=menu")

    def _kinds(self) -> None:
        for kind, words in VIEW_KIND_LABELS.items():
            with _item(partial(self._acts.show_as, self, kind)), ui.row().classes("items-center gap-2"):
                ui.icon(VIEW_KIND_ICONS[kind])
                ui.label(_(words))

    def _more(self) -> None:
        for name in self.row.view.sources:
            target = f"/sources/{quote(name)}"
            with _item(partial(ui.navigate.to, target)):
                ui.label(_("Source {name}", name=name))
            with _item(partial(self._acts.watch, self, name)):
                ui.label(_("New alert on {name}", name=name))
        with _item(lambda: self._acts.share(self)):
            ui.label(_("Share no longer") if self.row.shared else _("Share with others"))
        with _item(lambda: self._acts.remove(self)):
            ui.label(_("Remove"))


def _item(act: Callable[[], Any]) -> ui.menu_item:
    return ui.menu_item(on_click=act).props("role=menuitem")


def _fold_button(button: ui.button, row: ViewRow) -> None:
    button.set_icon("unfold_more" if row.view.folded else "unfold_less")
    button.props(f'aria-expanded="{str(not row.view.folded).lower()}"')
