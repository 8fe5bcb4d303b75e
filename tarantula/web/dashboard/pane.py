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
from tarantula.web.i18n import _, format_timestamp, language, set_language

MICROSECONDS = 1_000_000
ZOOM_FACTOR = 2.0
MOVE_FRACTION = 0.5
"""Part of its length by which a window moves."""
MIN_WINDOW_SECONDS, MAX_WINDOW_SECONDS = 10.0, 36525 * 86400.0


class TimeWindow:
    """A time window in microseconds since 1970, fixed or following the present."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end: int | None = None

    @property
    def follows(self) -> bool:
        """Whether the window ends at the present."""
        return self._end is None

    @property
    def end(self) -> int:
        """End of the window."""
        return self._end if self._end is not None else now_microseconds()

    @property
    def span(self) -> tuple[int, int]:
        """Start and end of the window."""
        end = self.end
        return max(end - int(self.seconds * MICROSECONDS), 0), end

    def drag(self, begin: int, end: int) -> None:
        """Move the window; if it ends at the present, it follows the present again."""
        self.seconds = min(max((end - begin) / MICROSECONDS, MIN_WINDOW_SECONDS), MAX_WINDOW_SECONDS)
        self._end = None if end >= now_microseconds() else max(end, int(self.seconds * MICROSECONDS))

    def move(self, windows: float) -> None:
        """Move the window by a number of its lengths."""
        end = self.end + int(windows * self.seconds * MICROSECONDS)
        self.drag(end - int(self.seconds * MICROSECONDS), end)

    def zoom(self, by: float) -> None:
        """Change the length of the window; its end stays."""
        self.seconds = min(max(self.seconds * by, MIN_WINDOW_SECONDS), MAX_WINDOW_SECONDS)

    def follow(self) -> None:
        """Follow the present again."""
        self._end = None


def now_microseconds() -> int:
    """Return the present time."""
    return int(time() * MICROSECONDS)


MARGIN_WINDOWS = 1.0
"""Windows that are loaded on each side of the visible one, for dragging."""
MAX_TRACK_POINTS, MIN_TRACK_POINTS = 1200, 150
"""Points per track, including the margins."""
MAX_POINTS_TOGETHER = 3600
"""Points of all tracks together; many tracks share the screen and the connection."""
CHART_WIDTH_PIXELS = 400
"""Chart width on a telephone; smaller movements of the window are not visible."""
RELOADS_PER_WINDOW = 20
"""Reloads per window length of a window that follows the present; in between, it only moves."""
DRAG_END_SECONDS = 0.7
"""Time without a drag event after which dragging has ended."""
KINDS_WITHOUT_TABLE = frozenset({ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD})
"""View kinds that need no additional table."""


class ViewPane:
    """The contents of a view card."""

    def __init__(self, context: ServiceContext, view: ViewConfig, on_loaded: Callable[[ViewProjection], None]) -> None:
        self.view = view
        self.projection: ViewProjection | None = None
        self._context, self._language, self._on_loaded = context, language(), on_loaded
        self._window = TimeWindow(view.window)
        self._body: ViewBody | None = None
        self._is_loading = self._is_reload_pending = False
        self._moved_to = 0
        with ui.element("div").classes("w-full p-3 min-w-0") as self.element:
            self._warning = text_element("p", "", "m-0 text-amber-900 text-sm break-words whitespace-pre-line").props(
                'role="status"'
            )
            self._container = ui.element("div").classes("w-full min-w-0 overflow-hidden")
            self._note = text_element("p", "", "m-0 text-sm text-slate-600 break-words")
            with ui.row().classes("w-full items-center gap-1 mt-1") as self._bar:
                self._window_controls()
            self._read_at = text_element("p", "", "m-0 text-xs text-slate-600")
            self._table = ui.expansion(_("As a table"), on_value_change=self._show_table).props("dense")
            self._table.classes("w-full").set_visibility(False)
        self._bar.set_visibility(False)
        self._drags, self._is_dragged = 0, False

    @property
    def moves_by_itself(self) -> bool:
        """Whether the view changes as time passes."""
        return self._window.follows and has_window(self.view) and self.projection is not None

    def set_view(self, view: ViewConfig) -> None:
        """Show another view in the same place."""
        self._window = TimeWindow(view.window) if view.window != self.view.window else self._window
        self.view, self._body = view, None
        self._container.clear()

    async def refresh(self) -> None:
        """Reload the data; calls during a reload cause one more reload."""
        if self._is_loading:
            self._is_reload_pending = True
            return
        self._is_loading = True
        try:
            await self._load()
            while self._is_reload_pending:
                self._is_reload_pending = False
                await self._load()
        finally:
            self._is_loading = False

    async def tick(self) -> None:
        """Move the window with the present if the movement is visible; reload now and then."""
        if not self.moves_by_itself or self.projection is None:
            return
        begin, end = self._window.span
        if (end - self._moved_to) * CHART_WIDTH_PIXELS < end - begin:
            return
        is_fresh = (end - self.projection.end) * RELOADS_PER_WINDOW < end - begin
        if is_fresh and isinstance(self._body, ChartBody) and is_draggable(self.projection) and not self._is_dragged:
            self._moved_to = end
            self._body.move(begin, end)
        else:
            await self.refresh()

    def _points(self) -> int:
        tracks = len(self.projection.tracks) if self.projection is not None else 0
        return min(MAX_TRACK_POINTS, max(MIN_TRACK_POINTS, MAX_POINTS_TOGETHER // max(tracks, 1)))

    async def _load(self) -> None:
        set_language(self._language)
        view = self.view
        begin, end = self._window.span
        try:
            projection = await run_in_thread(
                views.view_data, self._context, view, begin, end, self._points(), MARGIN_WINDOWS
            )
        except TarantulaError as error:
            self._warning.text = _(str(error))
            return
        # The view may have changed or been removed meanwhile.
        if self.view is view and not self.element.is_deleted:
            self._show(projection)

    def _show(self, projection: ViewProjection) -> None:
        has_changed = self.projection is None or _without_window(self.projection) != _without_window(projection)
        self.projection, self._moved_to = projection, projection.end
        self._on_loaded(projection)
        self._warning.text = warning_text(projection)
        self._note.text = note_text(projection)
        self._read_at.text = self._status_text(projection)
        self._bar.set_visibility(has_window(projection.view))
        self._table.set_visibility(projection.view.kind not in KINDS_WITHOUT_TABLE and not projection.complaint)
        if projection.complaint:
            self._container.clear()
            self._body = None
            return
        with self._container:
            self._draw(projection, has_changed)
        if self._table.value:
            self._fill_table(projection)

    def _draw(self, projection: ViewProjection, has_changed: bool) -> None:
        if self._body is None:
            self._container.clear()
            self._body, has_changed = body_for(projection.view.kind, self._drag_to), True
        if isinstance(self._body, ChartBody):
            draw = self._body.fill if self._is_dragged and is_draggable(projection) else self._body.show
            draw(projection)
        elif has_changed:
            self._container.clear()
            self._body.show(projection)

    async def _drag_to(self, begin: int, end: int) -> None:
        self._window.drag(begin, end)
        self._is_dragged = True
        self._drags += 1
        drag_number = self._drags
        await self.refresh()
        await asyncio.sleep(DRAG_END_SECONDS)
        if drag_number == self._drags and not self.element.is_deleted:
            # After dragging, load new margins.
            self._is_dragged = False
            await self.refresh()

    def _status_text(self, projection: ViewProjection) -> str:
        read = max((source.read_at or 0 for source in projection.sources), default=0)
        text = _("Read {when}", when=format_timestamp(read)) if read else _("Not read yet")
        if has_window(projection.view) and not self._window.follows:
            text += " · " + _(
                "{begin} to {end}", begin=format_timestamp(projection.begin), end=format_timestamp(projection.end)
            )
        return text

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
        if self._table.value and self.projection is not None:
            set_language(self._language)
            self._fill_table(self.projection)

    def _fill_table(self, projection: ViewProjection) -> None:
        self._table.clear()
        with self._table:
            data_as_table(projection)


def _without_window(projection: ViewProjection) -> tuple[object, ...]:
    return (projection.view, projection.columns, projection.records)
