"""What stands in the card of a view: words, a table, a chart, a cloud, a map."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from tarantula.streams.kinds import Kind
from tarantula.streams.views.cells import Cell, Column
from tarantula.streams.views.config import Function, ViewConfig, ViewKind
from tarantula.streams.views.config_part_fitting import IN_TIME, is_drawn
from tarantula.streams.views.expression import parsed
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.charts.categories_part_cloud import tags
from tarantula.web.charts.map_part_map import Map
from tarantula.web.components.elements import Address, address_link, few_rows
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.dashboard.bodies_part_chart import Chart, Dragged
from tarantula.web.format import at_shown, plain_number, shown
from tarantula.web.i18n import _

MOST_ROWS = 100


class Words:
    """Values with their names, side by side as far as there is room."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        for record in sight.records[:MOST_ROWS]:
            if record.row:
                tagged("h3", record.row, "text-base font-bold m-0 break-words")
            with ui.element("dl").classes("m-0 mb-3 w-full flex flex-wrap gap-x-8 gap-y-2"):
                for column in sight.telling:
                    with ui.element("div").classes("min-w-0"):
                        _named_value(record.cells.get(column.letter), column, sight)


class OneLine:
    """All on one line, as far as it is long enough."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        parts = list[str]()
        for record in sight.records[:MOST_ROWS]:
            values = ", ".join(f"{one.title} {shown(record.cells.get(one.letter), one)}" for one in sight.telling)
            parts.append(f"{record.row}: {values}" if record.row else values)
        line = tagged("p", " · ".join(parts), "m-0 w-full truncate value")
        line.props["title"] = line.text


class Table:
    """Rows and columns: as it is now, or what happened."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        happened = any(record.at is not None for record in sight.records)
        named = any(record.row for record in sight.records)
        naming = sight.naming
        headings = [*([_("When")] if happened else []), *([naming.title if naming else _("Row")] if named else [])]
        rows = [
            [
                *([at_shown(record.at)] if happened else []),
                *([record.row] if named else []),
                *(_in_table(record.cells.get(column.letter), column) for column in sight.telling),
            ]
            for record in sight.records[:MOST_ROWS]
        ]
        numbers = [len(headings) + place for place, column in enumerate(sight.telling) if is_drawn(column)]
        titles = [*headings, *(column.title for column in sight.telling)]
        few_rows(sight.title, titles, rows, numbers, "max-h-96")


class Cloud:
    """Words, larger the more they count."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        with ui.element("ul").classes("flex flex-wrap gap-x-3 items-baseline m-0 p-0 list-none"):
            for tag in tags(sight):
                with ui.element("li").classes("break-words min-w-0"):
                    tagged("span", tag.word, "").style(f"font-size: {tag.size:.2f}rem")
                    tagged("span", f" {plain_number(tag.weight)}", "text-xs text-slate-600")


def _named_value(cell: Cell | None, column: Column, sight: Sight) -> None:
    tagged("dt", column.title, "text-sm text-slate-600 break-words")
    with ui.element("dd").classes("m-0 break-words"):
        if column.kind == Kind.URL and cell is not None:
            address_link(cell.text)
        else:
            large = "text-2xl" if column.kind.is_number else "text-lg"
            tagged("span", shown(cell, column), f"{large} font-bold value")
        read = max((seen.read_at or 0 for seen in sight.sources), default=0)
        if len(sight.records) == 1 and cell is not None and cell.at is not None and cell.at < read:
            tagged("span", _("since {when}", when=at_shown(cell.at)), "block text-xs text-slate-600")


def _in_table(cell: Cell | None, column: Column) -> str:
    return Address(cell.text) if cell is not None and column.kind == Kind.URL else shown(cell, column)


Body = Words | OneLine | Table | Cloud | Chart | Map
PLAIN: Mapping[ViewKind, type[Words | OneLine | Table | Cloud | Map]] = {
    ViewKind.TEXT: Words,
    ViewKind.ONE_LINE: OneLine,
    ViewKind.TABLE: Table,
    ViewKind.TAG_CLOUD: Cloud,
    ViewKind.MAP: Map,
}


def body_for(kind: ViewKind, dragged: Dragged) -> Body:
    """Return what draws a kind of view."""
    return PLAIN[kind]() if kind in PLAIN else Chart(dragged)


def has_window(view: ViewConfig) -> bool:
    """Whether a view shows a stretch of time, or what comes of it."""
    windowed = view.function != Function.LAST or any(parsed(one.text).windowed for one in view.formulas)
    return view.kind in IN_TIME or view.events or windowed
