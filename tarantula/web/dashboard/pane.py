"""The inside of a view card: loads the data of its time window and redraws it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import time

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.streams import views
from tarantula.streams.views.config import ViewConfig, ViewKind
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import icon_button, text_element
from tarantula.web.dashboard.bodies import (
    ChartBody,
    ViewBody,
    body_for,
    data_as_table,
    has_window,
    is_draggable,
    note_text,
    warning_text,
)
from tarantula.web.format import format_timestamp
from tarantula.web.i18n import _, language, set_language, translate_sentence

MICROSECONDS = 1_000_000
ZOOM_FACTOR = 2.0
MOVE_FRACTION = 0.5
"""By how much of itself a window moves at once."""
SHORTEST, LONGEST = 10.0, 36525 * 86400.0


class TimeWindow:
    """From when to when, in microseconds since 1970."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end: int | None = None

    @property
    def follows(self) -> bool:
        """Whether it moves with the present."""
        return self._end is None

    @property
    def end(self) -> int:
        """Where it ends."""
        return self._end if self._end is not None else now_microseconds()

    @property
    def span(self) -> tuple[int, int]:
        """Where it begins and ends, at the same present."""
        end = self.end
        return max(end - int(self.seconds * MICROSECONDS), 0), end

    def drag(self, begin: int, end: int) -> None:
        """Be where somebody dragged it; at the present it follows again."""
        self.seconds = min(max((end - begin) / MICROSECONDS, SHORTEST), LONGEST)
        self._end = None if end >= now_microseconds() else max(end, int(self.seconds * MICROSECONDS))

    def move(self, windows: float) -> None:
        """Go back or forth."""
        end = self.end + int(windows * self.seconds * MICROSECONDS)
        self.drag(end - int(self.seconds * MICROSECONDS), end)

    def zoom(self, by: float) -> None:
        """Show more, or less, around the middle; where it follows, up to the present."""
        self.seconds = min(max(self.seconds * by, SHORTEST), LONGEST)

    def follow(self) -> None:
        """Move with the present again."""
        self._end = None


def now_microseconds() -> int:
    """Return the present."""
    return int(time() * MICROSECONDS)


MARGIN_WINDOWS = 1.0
"""Windows on both sides of the one that is seen, so that dragging it finds something there."""
AT_MOST, AT_LEAST = 1200, 150
"""Points of a track, with the margins."""
MAX_POINTS_TOGETHER = 3600
"""Points of all tracks: many of them share the room on the screen, and the way to it."""
CHART_WIDTH_PIXELS = 400
"""Of a chart on a telephone: a window that has moved by less than one looks the same."""
RELOADS_PER_WINDOW = 20
"""How many times in its own length a window that follows the present is looked at anew; between, it only moves."""
DRAG_END_SECONDS = 0.7
"""Seconds without dragging."""
KINDS_WITHOUT_TABLE = frozenset({ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD})
"""What needs no table beside it."""


class ViewPane:
    """The inside of a view."""

    def __init__(self, desk: ServiceContext, view: ViewConfig, seen: Callable[[ViewProjection], None]) -> None:
        self.view = view
        self.sight: ViewProjection | None = None
        self._desk, self._spoken, self._seen = desk, language(), seen
        self._window = TimeWindow(view.window)
        self._body: ViewBody | None = None
        self._busy = self._again = False
        self._moved_to = 0
        with ui.element("div").classes("w-full p-3 min-w-0") as self.element:
            self._trouble = text_element("p", "", "m-0 text-amber-900 text-sm break-words whitespace-pre-line").props(
                'role="status"'
            )
            self._place = ui.element("div").classes("w-full min-w-0 overflow-hidden")
            self._note = text_element("p", "", "m-0 text-sm text-slate-600 break-words")
            with ui.row().classes("w-full items-center gap-1 mt-1") as self._bar:
                self._window_controls()
            self._read = text_element("p", "", "m-0 text-xs text-slate-600")
            self._table = ui.expansion(_("As a table"), on_value_change=self._show_table).props("dense")
            self._table.classes("w-full").set_visibility(False)
        self._bar.set_visibility(False)
        self._drags, self._is_dragged = 0, False

    @property
    def moves_by_itself(self) -> bool:
        """Whether time passing is enough to change it."""
        return self._window.follows and has_window(self.view) and self.sight is not None

    def change(self, view: ViewConfig) -> None:
        """Show something else in the same place."""
        self._window = TimeWindow(view.window) if view.window != self.view.window else self._window
        self.view, self._body = view, None
        self._place.clear()

    async def refresh(self) -> None:
        """Look again; whoever asks while this goes on has it done once more."""
        if self._busy:
            self._again = True
            return
        self._busy = True
        try:
            await self._look()
            while self._again:
                self._again = False
                await self._look()
        finally:
            self._busy = False

    async def tick(self) -> None:
        """Move with the present, if that can be seen; look anew only now and then."""
        if not self.moves_by_itself or self.sight is None:
            return
        begin, end = self._window.span
        if (end - self._moved_to) * CHART_WIDTH_PIXELS < end - begin:
            return
        is_fresh = (end - self.sight.end) * RELOADS_PER_WINDOW < end - begin
        if is_fresh and isinstance(self._body, ChartBody) and is_draggable(self.sight) and not self._is_dragged:
            self._moved_to = end
            self._body.move(begin, end)
        else:
            await self.refresh()

    def _points(self) -> int:
        tracks = len(self.sight.tracks) if self.sight is not None else 0
        return min(AT_MOST, max(AT_LEAST, MAX_POINTS_TOGETHER // max(tracks, 1)))

    async def _look(self) -> None:
        set_language(self._spoken)
        asked = self.view
        begin, end = self._window.span
        try:
            sight = await run_in_thread(views.view_data, self._desk, asked, begin, end, self._points(), MARGIN_WINDOWS)
        except TarantulaError as error:
            self._trouble.text = translate_sentence(str(error))
            return
        # Somebody may have changed or removed it meanwhile.
        if self.view is asked and not self.element.is_deleted:
            self._show(sight)

    def _show(self, sight: ViewProjection) -> None:
        is_news = self.sight is None or _without_window(self.sight) != _without_window(sight)
        self.sight, self._moved_to = sight, sight.end
        self._seen(sight)
        self._trouble.text = warning_text(sight)
        self._note.text = note_text(sight)
        self._read.text = self._when(sight)
        self._bar.set_visibility(has_window(sight.view))
        self._table.set_visibility(sight.view.kind not in KINDS_WITHOUT_TABLE and not sight.complaint)
        if sight.complaint:
            self._place.clear()
            self._body = None
            return
        with self._place:
            self._draw(sight, is_news)
        if self._table.value:
            self._fill_table(sight)

    def _draw(self, sight: ViewProjection, is_news: bool) -> None:
        if self._body is None:
            self._place.clear()
            self._body, is_news = body_for(sight.view.kind, self._dragged), True
        if isinstance(self._body, ChartBody):
            draw = self._body.fill if self._is_dragged and is_draggable(sight) else self._body.show
            draw(sight)
        elif is_news:
            self._place.clear()
            self._body.show(sight)

    async def _dragged(self, begin: int, end: int) -> None:
        self._window.drag(begin, end)
        self._is_dragged = True
        self._drags += 1
        mine = self._drags
        await self.refresh()
        await asyncio.sleep(DRAG_END_SECONDS)
        if mine == self._drags and not self.element.is_deleted:
            # Whoever has dragged a window is given room to drag it on.
            self._is_dragged = False
            await self.refresh()

    def _when(self, sight: ViewProjection) -> str:
        read = max((seen.read_at or 0 for seen in sight.sources), default=0)
        said = _("Read {when}", when=format_timestamp(read)) if read else _("Not read yet")
        if has_window(sight.view) and not self._window.follows:
            said += " · " + _("{begin} to {end}", begin=format_timestamp(sight.begin), end=format_timestamp(sight.end))
        return said

    def _window_controls(self) -> None:
        def moved(change: Callable[[TimeWindow], None]) -> Callable[[], Awaitable[None]]:
            async def move() -> None:
                change(self._window)
                await self.refresh()

            return move

        icon_button("chevron_left", _("Earlier")).on_click(moved(lambda window: window.move(-MOVE_FRACTION)))
        icon_button("chevron_right", _("Later")).on_click(moved(lambda window: window.move(MOVE_FRACTION)))
        icon_button("zoom_in", _("Shorter window")).on_click(moved(lambda window: window.zoom(1 / ZOOM_FACTOR)))
        icon_button("zoom_out", _("Longer window")).on_click(moved(lambda window: window.zoom(ZOOM_FACTOR)))
        icon_button("last_page", _("Back to now")).on_click(moved(lambda window: window.follow()))

    def _show_table(self) -> None:
        if self._table.value and self.sight is not None:
            set_language(self._spoken)
            self._fill_table(self.sight)

    def _fill_table(self, sight: ViewProjection) -> None:
        self._table.clear()
        with self._table:
            data_as_table(sight)


def _without_window(sight: ViewProjection) -> tuple[object, ...]:
    return (sight.view, sight.columns, sight.records)
