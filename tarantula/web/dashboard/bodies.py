"""Contents of a view card: text, table, chart, tag cloud or map, the notes beside them, and
the same data as a table.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import ViewCell, ViewColumn, ViewTrack
from tarantula.streams.views.config import (
    TIME_KINDS,
    ViewConfig,
    ViewKind,
    WindowFunction,
    coordinate_columns,
    has_named_coordinates,
    is_numeric_column,
)
from tarantula.streams.views.expression import parse_expression
from tarantula.streams.views.projection import ViewProjection
from tarantula.web.charts import categories, map, network
from tarantula.web.charts.base import HIGH, scales_of
from tarantula.web.charts.categories import bar_chart, cloud_tags, gauge_chart, pie_chart, treemap_chart
from tarantula.web.charts.map import MapBody
from tarantula.web.charts.network import network_chart
from tarantula.web.charts.timeline import scatter_pairs, time_limits, timeline_chart, timeline_series
from tarantula.web.components.elements import AddressText, external_link, small_table, text_element
from tarantula.web.format import NO_VALUE, format_cell, format_cell_number, format_plain_number, format_timestamp
from tarantula.web.i18n import _, translate_sentence

DragHandler = Callable[[int, int], Awaitable[None]]
# Only what somebody drags has a batch; what the server asked for is no news to it.
DRAG_SCRIPT = """(event) => {{
  const shown = event.batch && getElement({0}).chart?.getOption().dataZoom?.[0];
  if (shown) emit([shown.startValue, shown.endValue]);
}}"""
DRAG_THROTTLE_SECONDS = 0.12
"""Seconds between two places to which a window is dragged."""
CATEGORY_CHARTS: Mapping[ViewKind, Callable[[ViewProjection], dict[str, Any]]] = {
    ViewKind.BAR: bar_chart,
    ViewKind.PIE: pie_chart,
    ViewKind.GAUGE: gauge_chart,
    ViewKind.TREEMAP: treemap_chart,
    ViewKind.NETWORK: network_chart,
}


class ChartBody:
    """A chart that is drawn once, and then changed."""

    def __init__(self, dragged: DragHandler) -> None:
        self._dragged = dragged
        self._chart: ui.echart | None = None

    def show(self, sight: ViewProjection) -> None:
        """Show a view, in the chart that is there or in a new one."""
        options = self._options(sight)
        if self._chart is not None and _shape(self._chart.options) == _shape(options):
            self._chart.options.clear()
            self._chart.options.update(options)
            self._chart.update()
            return
        if self._chart is not None:
            self._chart.delete()
        self._chart = ui.echart(options).classes("w-full").style(f"height: {_height(sight)}px; touch-action: pan-y")
        self._chart.props('role="img"')
        self._chart.props["aria-label"] = _("{title}. The same data is in the table below.", title=sight.title)
        if "dataZoom" in options:
            moved = DRAG_SCRIPT.format(self._chart.id)
            self._chart.on("chart:datazoom", self._drag, js_handler=moved, throttle=DRAG_THROTTLE_SECONDS)

    def fill(self, sight: ViewProjection) -> None:
        """Put data into the window that somebody is dragging, and leave the window to them."""
        if self._chart is None or len(self._chart.options["series"]) != len(sight.tracks):
            self.show(sight)
            return
        # The options stay as they are: to change them would send the window along.
        self._chart.run_chart_method("setOption", {"series": timeline_series(sight)})

    def move(self, begin: int, end: int) -> None:
        """Show another window of the same data."""
        if self._chart is not None:
            panels = len(self._chart.options["xAxis"])
            axes = [time_limits(begin, end) for _panel in range(panels)]
            zoom = {"startValue": begin // 1000, "endValue": end // 1000}
            self._chart.run_chart_method("setOption", {"xAxis": axes, "dataZoom": [zoom]})

    async def _drag(self, event: GenericEventArguments) -> None:
        begin, end = event.args
        await self._dragged(int(begin * 1000), int(end * 1000))

    def _options(self, sight: ViewProjection) -> dict[str, Any]:
        return timeline_chart(sight) if sight.view.kind in TIME_KINDS else CATEGORY_CHARTS[sight.view.kind](sight)


def is_draggable(sight: ViewProjection) -> bool:
    """Whether a view shows time from left to right."""
    return sight.view.kind in TIME_KINDS and (sight.view.kind != ViewKind.SCATTER or scatter_pairs(sight) is None)


def _shape(options: Mapping[str, Any]) -> tuple[int, int]:
    """Return what a chart cannot change while it is there: how many series it has, and how many panels."""
    grids = options.get("grid")
    return len(options["series"]), len(grids) if isinstance(grids, list) else 1


def _height(sight: ViewProjection) -> int:
    return scales_of(sight).height if is_draggable(sight) else HIGH


MAX_ROWS = 100


class TextBody:
    """Values with their names, side by side as far as there is room."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        for record in sight.records[:MAX_ROWS]:
            if record.row:
                text_element("h3", record.row, "text-base font-bold m-0 break-words")
            with ui.element("dl").classes("m-0 mb-3 w-full flex flex-wrap gap-x-8 gap-y-2"):
                for column in sight.informative:
                    with ui.element("div").classes("min-w-0"):
                        _named_value(record.cells.get(column.letter), column, sight)


class OneLineBody:
    """All on one line, as far as it is long enough."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        parts = list[str]()
        for record in sight.records[:MAX_ROWS]:
            values = ", ".join(
                f"{one.title} {format_cell(record.cells.get(one.letter), one)}" for one in sight.informative
            )
            parts.append(f"{record.row}: {values}" if record.row else values)
        line = text_element("p", " · ".join(parts), "m-0 w-full truncate value")
        line.props["title"] = line.text


class TableBody:
    """Rows and columns: as it is now, or what happened."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        happened = any(record.at is not None for record in sight.records)
        named = any(record.row for record in sight.records)
        naming = sight.naming
        headings = [*([_("When")] if happened else []), *([naming.title if naming else _("Row")] if named else [])]
        rows = [
            [
                *([format_timestamp(record.at)] if happened else []),
                *([record.row] if named else []),
                *(_in_table(record.cells.get(column.letter), column) for column in sight.informative),
            ]
            for record in sight.records[:MAX_ROWS]
        ]
        numbers = [len(headings) + place for place, column in enumerate(sight.informative) if is_numeric_column(column)]
        titles = [*headings, *(column.title for column in sight.informative)]
        small_table(sight.title, titles, rows, numbers, "max-h-96")


class CloudBody:
    """Words, larger the more they count."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        with ui.element("ul").classes("flex flex-wrap gap-x-3 items-baseline m-0 p-0 list-none"):
            for tag in cloud_tags(sight):
                with ui.element("li").classes("break-words min-w-0"):
                    text_element("span", tag.word, "").style(f"font-size: {tag.size:.2f}rem")
                    text_element("span", f" {format_plain_number(tag.weight)}", "text-xs text-slate-600")


def _named_value(cell: ViewCell | None, column: ViewColumn, sight: ViewProjection) -> None:
    text_element("dt", column.title, "text-sm text-slate-600 break-words")
    with ui.element("dd").classes("m-0 break-words"):
        if column.kind == ValueKind.URL and cell is not None:
            external_link(cell.text)
        else:
            large = "text-2xl" if column.kind.is_number else "text-lg"
            text_element("span", format_cell(cell, column), f"{large} font-bold value")
        read = max((seen.read_at or 0 for seen in sight.sources), default=0)
        if len(sight.records) == 1 and cell is not None and cell.at is not None and cell.at < read:
            text_element("span", _("since {when}", when=format_timestamp(cell.at)), "block text-xs text-slate-600")


def _in_table(cell: ViewCell | None, column: ViewColumn) -> str:
    return AddressText(cell.text) if cell is not None and column.kind == ValueKind.URL else format_cell(cell, column)


ViewBody = TextBody | OneLineBody | TableBody | CloudBody | ChartBody | MapBody
BODY_CLASSES: Mapping[ViewKind, type[TextBody | OneLineBody | TableBody | CloudBody | MapBody]] = {
    ViewKind.TEXT: TextBody,
    ViewKind.ONE_LINE: OneLineBody,
    ViewKind.TABLE: TableBody,
    ViewKind.TAG_CLOUD: CloudBody,
    ViewKind.MAP: MapBody,
}


def body_for(kind: ViewKind, dragged: DragHandler) -> ViewBody:
    """Return what draws a kind of view."""
    return BODY_CLASSES[kind]() if kind in BODY_CLASSES else ChartBody(dragged)


def has_window(view: ViewConfig) -> bool:
    """Whether a view shows a stretch of time, or what comes of it."""
    windowed = view.function != WindowFunction.LAST or any(parse_expression(one.text).windowed for one in view.formulas)
    return view.kind in TIME_KINDS or view.events or windowed


MAX_POINTS = 50


def data_as_table(sight: ViewProjection) -> None:
    """Show what a chart has in figures: rows, or the window summed up and its latest values."""
    if not sight.tracks:
        TableBody().show(sight)
        return
    headings = [_("Values"), _("Number"), _("First"), _("Last"), _("Smallest"), _("Largest"), _("Mean")]
    small_table(_("Summary of the window"), headings, [_summed(track, sight) for track in sight.tracks])
    latest = sorted(
        (
            (point.at, track, point.value)
            for track in sight.tracks
            for point in track.points
            # What only goes on was not read.
            if point.summary.count and sight.begin <= point.at < sight.end
        ),
        key=lambda one: -one[0],
    )
    rows = [
        [format_timestamp(at), track.title, format_cell_number(value, track.column)]
        for at, track, value in latest[:MAX_POINTS]
    ]
    small_table(_("The latest values"), [_("When"), _("Values"), _("Value")], rows)


def _summed(track: ViewTrack, sight: ViewProjection) -> list[str]:
    within = ViewTrack(track.column, track.row, [one for one in track.points if sight.begin <= one.at < sight.end])
    found = within.summary
    numbers = (found.first, found.last, found.minimum, found.maximum, found.mean)
    return [track.title, str(found.count), *(_number(number, track.column) for number in numbers)]


def _number(number: float | None, column: ViewColumn) -> str:
    return NO_VALUE if number is None else format_cell_number(number, column)


MAX_RECORDS_BY_KIND: Mapping[ViewKind, int] = {
    ViewKind.TEXT: MAX_ROWS,
    ViewKind.ONE_LINE: MAX_ROWS,
    ViewKind.TABLE: MAX_ROWS,
    ViewKind.BAR: categories.MAX_SLICES,
    ViewKind.NETWORK: network.MAX_RECORDS,
    ViewKind.MAP: map.MAX_PLACES,
}
MAX_SLICES_BY_KIND: Mapping[ViewKind, int] = {
    ViewKind.GAUGE: categories.MAX_GAUGES,
    ViewKind.PIE: categories.MAX_SLICES,
    ViewKind.TREEMAP: categories.MAX_SLICES,
}


def warning_text(sight: ViewProjection) -> str:
    """Say what is wrong with the sources of a view, or with how it is to be shown."""
    said = [seen.sentence for seen in sight.sources if seen.sentence]
    words = [translate_sentence(sentence) for sentence in dict.fromkeys(said)]
    if sight.complaint:
        words.append(translate_sentence(sight.complaint))
    if sight.hidden:
        words.append(_("A source of this view was removed, or you may not see it."))
    return "\n".join(words)


def note_text(sight: ViewProjection) -> str:
    """Say why nothing is seen, or not all of it."""
    return "" if sight.complaint else " ".join(_notes(sight))


def _notes(sight: ViewProjection) -> Iterator[str]:
    if sight.view.kind in TIME_KINDS:
        within = (sight.begin <= point.at < sight.end for track in sight.tracks for point in track.points)
        if not any(within):
            yield _("There are no readings in this window.")
    elif not sight.records:
        yield _nothing(sight)
    shown, there = _counted(sight)
    if shown < there:
        yield _("{shown} of {there} are shown.", shown=shown, there=there)
    unfit = len(categories.named_numbers(sight)) - len(categories.positive_numbers(sight))
    if sight.view.kind in (ViewKind.PIE, ViewKind.TREEMAP) and unfit:
        yield _("Only values above zero are drawn: {number} values are left out.", number=unfit)
    if sight.view.kind == ViewKind.MAP and not has_named_coordinates(sight.columns):
        found = coordinate_columns(sight.columns)
        names = [column.title for column in found] if found else []
        yield _("No value is named latitude or longitude; these are used instead: {names}.", names=", ".join(names))


def _nothing(sight: ViewProjection) -> str:
    if sight.view.conditions:
        return _("No data meets the conditions of this view.")
    return _("There are no readings in this window.") if sight.view.events else _("There are no readings yet.")


def _counted(sight: ViewProjection) -> tuple[int, int]:
    """Return how many are shown, and how many there are."""
    kind = sight.view.kind
    if kind in TIME_KINDS:
        return len(sight.tracks), len(sight.tracks) + sight.untracked
    if kind in MAX_SLICES_BY_KIND:
        there = len(categories.named_numbers(sight) if kind == ViewKind.GAUGE else categories.positive_numbers(sight))
        return min(there, MAX_SLICES_BY_KIND[kind]), there
    shown = min(len(sight.records), MAX_RECORDS_BY_KIND.get(kind, len(sight.records)))
    return shown, len(sight.records) + sight.unlisted
