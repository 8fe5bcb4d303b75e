"""Contents of a view card: text, table, chart, tag cloud or map, with notes, and the same data as a table."""

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
from tarantula.web.charts.base import CHART_HEIGHT, scales_of
from tarantula.web.charts.categories import bar_chart, cloud_tags, gauge_chart, pie_chart, treemap_chart
from tarantula.web.charts.map import MapBody
from tarantula.web.charts.network import network_chart
from tarantula.web.charts.timeline import scatter_pairs, time_limits, timeline_chart, timeline_series
from tarantula.web.components.elements import AddressText, external_link, small_table, text_element
from tarantula.web.i18n import NO_VALUE, _, format_cell, format_cell_number, format_plain_number, format_timestamp

DragHandler = Callable[[int, int], Awaitable[None]]
# Only drags by the user have a batch; changes by the server do not.
DRAG_SCRIPT = """(event) => {{
  const shown = event.batch && getElement({0}).chart?.getOption().dataZoom?.[0];
  if (shown) emit([shown.startValue, shown.endValue]);
}}"""
DRAG_THROTTLE_SECONDS = 0.12
"""Minimum interval between two drag events."""
CATEGORY_CHARTS: Mapping[ViewKind, Callable[[ViewProjection], dict[str, Any]]] = {
    ViewKind.BAR: bar_chart,
    ViewKind.PIE: pie_chart,
    ViewKind.GAUGE: gauge_chart,
    ViewKind.TREEMAP: treemap_chart,
    ViewKind.NETWORK: network_chart,
}


class ChartBody:
    """A chart that is created once and then updated."""

    def __init__(self, on_drag: DragHandler) -> None:
        self._on_drag = on_drag
        self._chart: ui.echart | None = None

    def show(self, projection: ViewProjection) -> None:
        """Draw a view, in the existing chart if its shape allows it."""
        options = self._options(projection)
        if self._chart is not None and _shape(self._chart.options) == _shape(options):
            self._chart.options.clear()
            self._chart.options.update(options)
            self._chart.update()
            return
        if self._chart is not None:
            self._chart.delete()
        self._chart = (
            ui.echart(options).classes("w-full").style(f"height: {_height(projection)}px; touch-action: pan-y")
        )
        self._chart.props('role="img"')
        self._chart.props["aria-label"] = _("{title}. The same data is in the table below.", title=projection.title)
        if "dataZoom" in options:
            moved = DRAG_SCRIPT.format(self._chart.id)
            self._chart.on("chart:datazoom", self._report_drag, js_handler=moved, throttle=DRAG_THROTTLE_SECONDS)

    def fill(self, projection: ViewProjection) -> None:
        """Update the data of a chart while the user drags its window."""
        if self._chart is None or len(self._chart.options["series"]) != len(projection.tracks):
            self.show(projection)
            return
        # Only the series: a change of the options would also set the window.
        self._chart.run_chart_method("setOption", {"series": timeline_series(projection)})

    def move(self, begin: int, end: int) -> None:
        """Show another window of the same data."""
        if self._chart is not None:
            panels = len(self._chart.options["xAxis"])
            axes = [time_limits(begin, end) for _panel in range(panels)]
            zoom = {"startValue": begin // 1000, "endValue": end // 1000}
            self._chart.run_chart_method("setOption", {"xAxis": axes, "dataZoom": [zoom]})

    async def _report_drag(self, event: GenericEventArguments) -> None:
        begin, end = event.args
        await self._on_drag(int(begin * 1000), int(end * 1000))

    def _options(self, projection: ViewProjection) -> dict[str, Any]:
        return (
            timeline_chart(projection)
            if projection.view.kind in TIME_KINDS
            else CATEGORY_CHARTS[projection.view.kind](projection)
        )


def is_draggable(projection: ViewProjection) -> bool:
    """Whether the horizontal axis of a view is time."""
    return projection.view.kind in TIME_KINDS and (
        projection.view.kind != ViewKind.SCATTER or scatter_pairs(projection) is None
    )


def _shape(options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of series and of panels; an existing chart cannot change them."""
    grids = options.get("grid")
    return len(options["series"]), len(grids) if isinstance(grids, list) else 1


def _height(projection: ViewProjection) -> int:
    return scales_of(projection).height if is_draggable(projection) else CHART_HEIGHT


MAX_ROWS = 100


class TextBody:
    """Values with their names, side by side."""

    def show(self, projection: ViewProjection) -> None:
        """Draw a view."""
        for record in projection.records[:MAX_ROWS]:
            if record.row:
                text_element("h3", record.row, "text-base font-bold m-0 break-words")
            with ui.element("dl").classes("m-0 mb-3 w-full flex flex-wrap gap-x-8 gap-y-2"):
                for column in projection.informative:
                    with ui.element("div").classes("min-w-0"):
                        _named_value(record.cells.get(column.letter), column, projection)


class OneLineBody:
    """All values on one line, truncated if needed."""

    def show(self, projection: ViewProjection) -> None:
        """Draw a view."""
        parts = list[str]()
        for record in projection.records[:MAX_ROWS]:
            values = ", ".join(
                f"{one.title} {format_cell(record.cells.get(one.letter), one)}" for one in projection.informative
            )
            parts.append(f"{record.row}: {values}" if record.row else values)
        line = text_element("p", " · ".join(parts), "m-0 w-full truncate value")
        line.props["title"] = line.text


class TableBody:
    """A table of current values, or of the events of the window."""

    def show(self, projection: ViewProjection) -> None:
        """Draw a view."""
        has_times = any(record.at is not None for record in projection.records)
        has_names = any(record.row for record in projection.records)
        naming = projection.naming
        headings = [*([_("When")] if has_times else []), *([naming.title if naming else _("Row")] if has_names else [])]
        rows = [
            [
                *([format_timestamp(record.at)] if has_times else []),
                *([record.row] if has_names else []),
                *(_table_cell(record.cells.get(column.letter), column) for column in projection.informative),
            ]
            for record in projection.records[:MAX_ROWS]
        ]
        numbers = [
            len(headings) + index for index, column in enumerate(projection.informative) if is_numeric_column(column)
        ]
        titles = [*headings, *(column.title for column in projection.informative)]
        small_table(projection.title, titles, rows, numbers, "max-h-96")


class CloudBody:
    """A tag cloud."""

    def show(self, projection: ViewProjection) -> None:
        """Draw a view."""
        with ui.element("ul").classes("flex flex-wrap gap-x-3 items-baseline m-0 p-0 list-none"):
            for tag in cloud_tags(projection):
                with ui.element("li").classes("break-words min-w-0"):
                    text_element("span", tag.word, "").style(f"font-size: {tag.size:.2f}rem")
                    text_element("span", f" {format_plain_number(tag.weight)}", "text-xs text-slate-600")


def _named_value(cell: ViewCell | None, column: ViewColumn, projection: ViewProjection) -> None:
    text_element("dt", column.title, "text-sm text-slate-600 break-words")
    with ui.element("dd").classes("m-0 break-words"):
        if column.kind == ValueKind.URL and cell is not None:
            external_link(cell.text)
        else:
            large = "text-2xl" if column.kind.is_number else "text-lg"
            text_element("span", format_cell(cell, column), f"{large} font-bold value")
        read = max((source.read_at or 0 for source in projection.sources), default=0)
        if len(projection.records) == 1 and cell is not None and cell.at is not None and cell.at < read:
            text_element("span", _("since {when}", when=format_timestamp(cell.at)), "block text-xs text-slate-600")


def _table_cell(cell: ViewCell | None, column: ViewColumn) -> str:
    return AddressText(cell.text) if cell is not None and column.kind == ValueKind.URL else format_cell(cell, column)


ViewBody = TextBody | OneLineBody | TableBody | CloudBody | ChartBody | MapBody
BODY_CLASSES: Mapping[ViewKind, type[TextBody | OneLineBody | TableBody | CloudBody | MapBody]] = {
    ViewKind.TEXT: TextBody,
    ViewKind.ONE_LINE: OneLineBody,
    ViewKind.TABLE: TableBody,
    ViewKind.TAG_CLOUD: CloudBody,
    ViewKind.MAP: MapBody,
}


def body_for(kind: ViewKind, on_drag: DragHandler) -> ViewBody:
    """Return the body that draws a kind of view."""
    return BODY_CLASSES[kind]() if kind in BODY_CLASSES else ChartBody(on_drag)


def has_window(view: ViewConfig) -> bool:
    """Whether a view depends on a time window."""
    windowed = view.function != WindowFunction.LAST or any(parse_expression(one.text).windowed for one in view.formulas)
    return view.kind in TIME_KINDS or view.events or windowed


MAX_POINTS = 50


def data_as_table(projection: ViewProjection) -> None:
    """Show the data of a chart as a table: its rows, or a summary of the window and the latest values."""
    if not projection.tracks:
        TableBody().show(projection)
        return
    headings = [_("Values"), _("Number"), _("First"), _("Last"), _("Smallest"), _("Largest"), _("Mean")]
    small_table(_("Summary of the window"), headings, [_summary_row(track, projection) for track in projection.tracks])
    latest = sorted(
        (
            (point.at, track, point.value)
            for track in projection.tracks
            for point in track.points
            # Points without a reading only continue the line.
            if point.summary.count and projection.begin <= point.at < projection.end
        ),
        key=lambda one: -one[0],
    )
    rows = [
        [format_timestamp(at), track.title, format_cell_number(value, track.column)]
        for at, track, value in latest[:MAX_POINTS]
    ]
    small_table(_("The latest values"), [_("When"), _("Values"), _("Value")], rows)


def _summary_row(track: ViewTrack, projection: ViewProjection) -> list[str]:
    within = ViewTrack(
        track.column, track.row, [one for one in track.points if projection.begin <= one.at < projection.end]
    )
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


def warning_text(projection: ViewProjection) -> str:
    """Return the errors of the sources and of the view configuration."""
    errors = [source.sentence for source in projection.sources if source.sentence]
    texts = [_(sentence) for sentence in dict.fromkeys(errors)]
    if projection.complaint:
        texts.append(_(projection.complaint))
    if projection.hidden:
        texts.append(_("A source of this view was removed, or you may not see it."))
    return "\n".join(texts)


def note_text(projection: ViewProjection) -> str:
    """Return why there is no data, or not all of it."""
    return "" if projection.complaint else " ".join(_notes(projection))


def _notes(projection: ViewProjection) -> Iterator[str]:
    if projection.view.kind in TIME_KINDS:
        within = (
            projection.begin <= point.at < projection.end for track in projection.tracks for point in track.points
        )
        if not any(within):
            yield _("There are no readings in this window.")
    elif not projection.records:
        yield _empty_note(projection)
    shown, total = _counted(projection)
    if shown < total:
        yield _("{shown} of {there} are shown.", shown=shown, there=total)
    omitted = len(categories.named_numbers(projection)) - len(categories.positive_numbers(projection))
    if projection.view.kind in (ViewKind.PIE, ViewKind.TREEMAP) and omitted:
        yield _("Only values above zero are drawn: {number} values are left out.", number=omitted)
    if projection.view.kind == ViewKind.MAP and not has_named_coordinates(projection.columns):
        found = coordinate_columns(projection.columns)
        names = [column.title for column in found] if found else []
        yield _("No value is named latitude or longitude; these are used instead: {names}.", names=", ".join(names))


def _empty_note(projection: ViewProjection) -> str:
    if projection.view.conditions:
        return _("No data meets the conditions of this view.")
    return _("There are no readings in this window.") if projection.view.events else _("There are no readings yet.")


def _counted(projection: ViewProjection) -> tuple[int, int]:
    """Return the numbers of displayed and of existing values."""
    kind = projection.view.kind
    if kind in TIME_KINDS:
        return len(projection.tracks), len(projection.tracks) + projection.untracked
    if kind in MAX_SLICES_BY_KIND:
        total = len(
            categories.named_numbers(projection) if kind == ViewKind.GAUGE else categories.positive_numbers(projection)
        )
        return min(total, MAX_SLICES_BY_KIND[kind]), total
    shown = min(len(projection.records), MAX_RECORDS_BY_KIND.get(kind, len(projection.records)))
    return shown, len(projection.records) + projection.unlisted
