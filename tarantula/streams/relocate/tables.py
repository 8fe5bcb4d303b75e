"""HTML tables as grids of cells: row and column titles, and which table of a page has given titles."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice

from turbohtml import Document, Element

from tarantula.core.messages import Message
from tarantula.streams.relocate.page_text import as_label, as_title, text_of
from tarantula.streams.selectors import select_css
from tarantula.streams.texts import fold_text

CELL_TAGS = frozenset({"td", "th"})
MOST_TABLE_ROWS = 5000
MOST_TABLE_COLUMNS = 500
"""Limit on columns, because a cell can declare a colspan of a thousand."""
MOST_TABLES = 200
"""Maximum number of tables of a page to search."""


@dataclass(slots=True)
class TableGrid:
    """Cells by row and column; ``None`` where there is no cell."""

    rows: list[list[Element | None]] = field(default_factory=list)
    header_rows: int = 0
    """Number of header rows."""
    places: dict[Element, tuple[int, int]] = field(default_factory=dict)
    """First row and first column of each cell."""

    def titles_of(self, column: int) -> list[str]:
        """Return the header texts above a column, from top to bottom."""
        titles: list[Element] = []
        for row in self.rows[: self.header_rows]:
            cell = row[column] if column < len(row) else None
            if cell is not None and cell not in titles:
                titles.append(cell)
        return [text for cell in titles if (text := text_of(cell))]

    def title_of(self, column: int) -> str:
        """Return the header texts above a column, joined."""
        return " ".join(self.titles_of(column))

    def titles(self) -> list[str]:
        """Return the titles of all columns."""
        return [self.title_of(column) for column in range(max(map(len, self.rows), default=0))]


def grid_of(table: Element) -> TableGrid:
    """Return the grid of a table, without nested tables."""
    grid = TableGrid()
    spanning: dict[int, tuple[int, Element]] = {}
    table_rows = list(islice(_rows_of(table), MOST_TABLE_ROWS))
    for row in table_rows:
        grid.rows.append(_row_cells(row, spanning))
        for column, cell in enumerate(grid.rows[-1]):
            if cell is not None:
                grid.places.setdefault(cell, (len(grid.rows) - 1, column))
    grid.header_rows = _count_header_rows(table_rows) or _count_plain_header(grid.rows)
    return grid


def _rows_of(table: Element) -> list[Element]:
    rows: list[Element] = []
    for child in table:
        if isinstance(child, Element):
            if child.tag == "tr":
                rows.append(child)
            elif child.tag in ("thead", "tbody", "tfoot"):
                rows += [row for row in child if isinstance(row, Element) and row.tag == "tr"]
    return rows


def cells_of(row: Element) -> list[Element]:
    """Return the cells of a row in source order."""
    return [cell for cell in row if isinstance(cell, Element) and cell.tag in CELL_TAGS]


def _row_cells(row: Element, spanning: dict[int, tuple[int, Element]]) -> list[Element | None]:
    placed: list[Element | None] = []

    def fill_from_above() -> None:
        while len(placed) in spanning:
            left, cell = spanning.pop(len(placed))
            if left > 1:
                still_spanning[len(placed)] = (left - 1, cell)
            placed.append(cell)

    still_spanning: dict[int, tuple[int, Element]] = {}
    for cell in cells_of(row):
        fill_from_above()
        width, height = _span(cell, "colspan", MOST_TABLE_COLUMNS), _span(cell, "rowspan", MOST_TABLE_ROWS)
        for _ in range(min(width, MOST_TABLE_COLUMNS - len(placed))):
            if height > 1:
                still_spanning[len(placed)] = (height - 1, cell)
            placed.append(cell)
    while spanning and len(placed) < MOST_TABLE_COLUMNS:
        if len(placed) not in spanning:
            placed.append(None)
        fill_from_above()
    spanning.clear()
    spanning.update(still_spanning)
    return placed


def _span(cell: Element, name: str, most: int) -> int:
    declared = cell.attr(name) or ""
    return min(max(int(declared), 1), most) if declared.isascii() and declared.isdigit() and len(declared) < 9 else 1


def _count_header_rows(rows: list[Element]) -> int:
    """Count the header rows: those of a thead, or those at the top with only th cells."""
    header_rows = 0
    for row in rows:
        cells = cells_of(row)
        in_head = isinstance(row.parent, Element) and row.parent.tag == "thead"
        if not in_head and (not cells or any(cell.tag == "td" for cell in cells)):
            break
        header_rows += 1
    return header_rows


def _count_plain_header(rows: list[list[Element | None]]) -> int:
    """Return 1 if the first row has only words and the second has a number, for tables without th; else 0."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    first, second = ([text_of(cell) for cell in row if cell is not None] for row in rows[:2])
    words = all(as_label(text) and not _has_digit(text) for text in first if text)
    return int(words and any(first) and any(map(_has_digit, second)))


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def row_title(grid: TableGrid, cell: Element, values: frozenset[Element]) -> str:
    """Return the first words of a row, or its number; empty if they are another value."""
    row, column = grid.places[cell]
    number = ""
    for other in grid.rows[row]:
        if other is None or other is cell:
            continue
        if contains_any(other, values):
            return number
        text = text_of(other)
        if title := as_label(text):
            return title
        if other.tag == "th" or (not number and text.rstrip("ºª.)").isdigit() and len(text) < 5):
            number = text[:20]
        if grid.places[other][1] >= column:
            break
    first = grid.rows[row][0]
    return number if first is not None and first.tag == "th" else ""


def column_titles(grid: TableGrid, cell: Element) -> tuple[str, str]:
    """Return the lowest column title above a cell, and the titles above that one."""
    row, column = grid.places[cell]
    if row < grid.header_rows:
        return "", ""
    *above, title = grid.titles_of(column) or [""]
    return as_title(title), as_title(" ".join(above))


def title_above(element: Element) -> str:
    """Return the column title of an element in a table made of other elements: from the first row of as many parts."""
    node = element
    for _ in range(2):
        row = node.parent
        rows = row.parent if isinstance(row, Element) else None
        if (
            not isinstance(row, Element)
            or not isinstance(rows, Element)
            or row.tag in CELL_TAGS
            or rows.tag in CELL_TAGS
        ):
            return ""
        parts, first = _child_elements(row), next(iter(_child_elements(rows)), row)
        texts = [text_of(part) for part in _child_elements(first)] if first is not row else []
        titles = [as_title(text) if not any(map(str.isdigit, text)) else "" for text in texts]
        if len(parts) > 1 and len(titles) == len(parts) and all(titles) and first.tag == row.tag:
            return titles[parts.index(node)]
        node = row
    return ""


def contains_any(element: Element, values: frozenset[Element]) -> bool:
    """Whether an element is, or contains, one of the values."""
    return any(value is element or element in value.ancestors for value in values)


def _child_elements(parent: Element) -> list[Element]:
    return [child for child in parent.children if isinstance(child, Element)]


def find_table(document: Document, selector: str, titles: AbstractSet[str], rows: AbstractSet[str]) -> TableGrid | str:
    """Return the table that a selector matches, or the only one with all titles; or the reason why there is none."""
    fitting = select_css(document, selector)[:MOST_TABLES] if selector else []
    chosen = [table for element in fitting if (table := _table_of(element)) is not None]
    if not titles and not rows:
        return (
            grid_of(chosen[0])
            if len(chosen) == 1
            else Message("The selector matches {count} tables, not one.", count=len(chosen) or Message("no"))
        )
    for tables in (chosen, document.select("table")[:MOST_TABLES]):
        grids = [grid for table in tables if _has_titles(grid := grid_of(table), titles, rows)]
        if len(grids) == 1:
            return grids[0]
        if len(grids) > 1:
            return Message(
                "{count} tables on the page have these titles. Set a selector that matches one.", count=len(grids)
            )
    return grid_of(chosen[0]) if len(chosen) == 1 else Message("No table on the page has all these titles.")


def _table_of(element: Element) -> Element | None:
    return element if element.tag == "table" else element.select_one("table") or element.closest("table")


def _has_titles(grid: TableGrid, titles: AbstractSet[str], rows: AbstractSet[str]) -> bool:
    if not titles <= {fold_text(title) for title in grid.titles()}:
        return False
    return not rows or rows <= {fold_text(row_name(cells, None)) for cells in grid.rows}


def row_name(cells: list[Element | None], column: int | None) -> str:
    """Return the name of a row: the text in *column*, or else the first text with letters."""
    if column is not None:
        cell = cells[column] if column < len(cells) else None
        return text_of(cell) if cell is not None else ""
    texts = [text_of(cell) for cell in cells if cell is not None]
    return next((text for text in texts if any(map(str.isalpha, text))), next(iter(texts), ""))
