"""Which table of a page is meant."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from turbohtml import Document, Element

from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, grid_of
from tarantula.streams.selectors import select_css
from tarantula.streams.texts_part_words import fold_text

MOST_TABLES = 200
"""Of a page, among which the one with the titles is looked for."""


def find_table(document: Document, selector: str, titles: AbstractSet[str], rows: AbstractSet[str]) -> TableGrid | str:
    """Return the table that a selector fits, or the only one with all the titles; or say why there is none."""
    fitting = select_css(document, selector)[:MOST_TABLES] if selector else []
    chosen = [table for element in fitting if (table := _table_at(element)) is not None]
    if not titles and not rows:
        return grid_of(chosen[0]) if len(chosen) == 1 else f"The selector fits {len(chosen) or 'no'} tables, not one."
    for tables in (chosen, document.select("table")[:MOST_TABLES]):
        grids = [grid for table in tables if _has(grid := grid_of(table), titles, rows)]
        if len(grids) == 1:
            return grids[0]
        if len(grids) > 1:
            return f"{len(grids)} tables on the page have these titles. Give a selector that fits one."
    return grid_of(chosen[0]) if len(chosen) == 1 else "No table on the page has all these titles."


def _table_at(element: Element) -> Element | None:
    return element if element.tag == "table" else element.select_one("table") or element.closest("table")


def _has(grid: TableGrid, titles: AbstractSet[str], rows: AbstractSet[str]) -> bool:
    if not titles <= {fold_text(title) for title in grid.titles()}:
        return False
    return not rows or rows <= {fold_text(row_name(cells, None)) for cells in grid.rows}


def row_name(cells: list[Element | None], column: int | None) -> str:
    """Return the name of a row: what is in a column, or else its first words."""
    if column is not None:
        cell = cells[column] if column < len(cells) else None
        return text_of(cell) if cell is not None else ""
    texts = [text_of(cell) for cell in cells if cell is not None]
    return next((text for text in texts if any(map(str.isalpha, text))), next(iter(texts), ""))
