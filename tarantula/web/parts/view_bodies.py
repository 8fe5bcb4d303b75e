"""What stands in the card of a view: words, a table, a chart, a cloud, a map."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from tarantula.streams.views.expression import parsed
from tarantula.streams.views.fitting import IN_TIME
from tarantula.streams.views.sight import Sight
from tarantula.streams.views.view import Function, ViewConfig, ViewKind
from tarantula.web.drawing.cloud import tags
from tarantula.web.drawing.in_time import scatter_pairs
from tarantula.web.drawing.values import at_shown, shown
from tarantula.web.parts.sections import few_rows
from tarantula.web.parts.style import tagged
from tarantula.web.parts.view_chart import Chart, Dragged
from tarantula.web.parts.view_map import Map
from tarantula.web.words import _

MOST_ROWS = 100


class Words:
    """Values with their names, one below the other."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        for record in sight.records[:MOST_ROWS]:
            if record.row:
                tagged("h3", record.row, "text-base font-bold m-0 break-words")
            with ui.element("dl").classes("m-0 mb-2 w-full"):
                for column in sight.columns:
                    cell = record.cells.get(column.letter)
                    tagged("dt", column.title, "text-sm text-slate-600 break-words")
                    with ui.element("dd").classes("m-0 break-words"):
                        large = "text-2xl" if column.kind.is_number else "text-lg"
                        tagged("span", shown(cell, column), f"{large} font-bold value")
                        if cell is not None and cell.at is not None:
                            tagged("span", f" {at_shown(cell.at)}", "text-xs text-slate-600")


class OneLine:
    """All on one line, as far as it is long enough."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        parts = list[str]()
        for record in sight.records[:MOST_ROWS]:
            values = ", ".join(f"{one.title} {shown(record.cells.get(one.letter), one)}" for one in sight.columns)
            parts.append(f"{record.row}: {values}" if record.row else values)
        tagged("p", " · ".join(parts), "m-0 w-full truncate value")


class Table:
    """Rows and columns: as it is now, or what happened."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        happened = any(record.at is not None for record in sight.records)
        named = any(record.row for record in sight.records)
        headings = [*([_("When")] if happened else []), *([_("Row")] if named else [])]
        rows = [
            [
                *([at_shown(record.at)] if happened else []),
                *([record.row] if named else []),
                *(shown(record.cells.get(column.letter), column) for column in sight.columns),
            ]
            for record in sight.records[:MOST_ROWS]
        ]
        few_rows(sight.title, [*headings, *(column.title for column in sight.columns)], rows)


class Cloud:
    """Words, larger the more they count."""

    def show(self, sight: Sight) -> None:
        """Show a view."""
        with ui.element("ul").classes("flex flex-wrap gap-x-3 items-baseline m-0 p-0 list-none"):
            for tag in tags(sight):
                with ui.element("li").classes("break-all"):
                    tagged("span", tag.word, "").style(f"font-size: {tag.size:.2f}rem")
                    tagged("span", f" {tag.weight:.6g}", "text-xs text-slate-600")


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


def is_draggable(sight: Sight) -> bool:
    """Whether a view shows time from left to right."""
    return sight.view.kind in IN_TIME and (sight.view.kind != ViewKind.SCATTER or scatter_pairs(sight) is None)


def has_window(view: ViewConfig) -> bool:
    """Whether a view shows a stretch of time, or what comes of it."""
    windowed = view.function != Function.LAST or any(parsed(one.text).windowed for one in view.formulas)
    return view.kind in IN_TIME or view.events or windowed
