"""What stands in the card of a view: words, a table, a chart, a cloud, a map."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import ViewCell, ViewColumn
from tarantula.streams.views.config import ViewConfig, ViewKind, WindowFunction
from tarantula.streams.views.config_part_fitting import TIME_KINDS, is_numeric_column
from tarantula.streams.views.expression import parse_expression
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.categories_part_cloud import cloud_tags
from tarantula.web.charts.map_part_map import MapBody
from tarantula.web.components.elements import AddressText, external_link, small_table
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.dashboard.bodies_part_chart import ChartBody, DragHandler
from tarantula.web.format import format_cell, format_plain_number, format_timestamp
from tarantula.web.i18n import _

MAX_ROWS = 100


class TextBody:
    """Values with their names, side by side as far as there is room."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        for record in sight.records[:MAX_ROWS]:
            if record.row:
                text_element("h3", record.row, "text-base font-bold m-0 break-words")
            with ui.element("dl").classes("m-0 mb-3 w-full flex flex-wrap gap-x-8 gap-y-2"):
                for column in sight.telling:
                    with ui.element("div").classes("min-w-0"):
                        _named_value(record.cells.get(column.letter), column, sight)


class OneLineBody:
    """All on one line, as far as it is long enough."""

    def show(self, sight: ViewProjection) -> None:
        """Show a view."""
        parts = list[str]()
        for record in sight.records[:MAX_ROWS]:
            values = ", ".join(f"{one.title} {format_cell(record.cells.get(one.letter), one)}" for one in sight.telling)
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
                *(_in_table(record.cells.get(column.letter), column) for column in sight.telling),
            ]
            for record in sight.records[:MAX_ROWS]
        ]
        numbers = [len(headings) + place for place, column in enumerate(sight.telling) if is_numeric_column(column)]
        titles = [*headings, *(column.title for column in sight.telling)]
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
