"""A table as it is seen: cells in rows and columns, those that are wide or high in each of their places."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from turbohtml import Element

from tarantula.streams.relocate.page_text import as_label, text_of

CELL_TAGS = frozenset({"td", "th"})
MOST_TABLE_ROWS = 5000
MOST_TABLE_COLUMNS = 500
"""What is further right or below is not looked at: a cell may say that it is a thousand columns wide."""


@dataclass(slots=True)
class TableGrid:
    """Cells by row and column; ``None`` where there is none."""

    rows: list[list[Element | None]] = field(default_factory=list)
    heads: int = 0
    """How many rows, from the top, hold titles of columns."""
    places: dict[Element, tuple[int, int]] = field(default_factory=dict)
    """The first row and the first column of each cell."""

    def titles_of(self, column: int) -> list[str]:
        """Return what stands above a column, from top to bottom."""
        titles: list[Element] = []
        for row in self.rows[: self.heads]:
            cell = row[column] if column < len(row) else None
            if cell is not None and cell not in titles:
                titles.append(cell)
        return [text for cell in titles if (text := text_of(cell))]

    def title_of(self, column: int) -> str:
        """Return all that stands above a column as one title."""
        return " ".join(self.titles_of(column))

    def titles(self) -> list[str]:
        """Return the titles of all columns."""
        return [self.title_of(column) for column in range(max(map(len, self.rows), default=0))]


def grid_of(table: Element) -> TableGrid:
    """Return the cells of a table, without those of tables inside."""
    grid = TableGrid()
    open_below: dict[int, tuple[int, Element]] = {}
    written = list(islice(_rows_of(table), MOST_TABLE_ROWS))
    for row in written:
        grid.rows.append(_placed(row, open_below))
        for column, cell in enumerate(grid.rows[-1]):
            if cell is not None:
                grid.places.setdefault(cell, (len(grid.rows) - 1, column))
    grid.heads = _heads(written) or _plain_head(grid.rows)
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
    """Return the cells of a row as they are written."""
    return [cell for cell in row if isinstance(cell, Element) and cell.tag in CELL_TAGS]


def _placed(row: Element, open_below: dict[int, tuple[int, Element]]) -> list[Element | None]:
    placed: list[Element | None] = []

    def fill_from_above() -> None:
        while len(placed) in open_below:
            left, cell = open_below.pop(len(placed))
            if left > 1:
                still_open[len(placed)] = (left - 1, cell)
            placed.append(cell)

    still_open: dict[int, tuple[int, Element]] = {}
    for cell in cells_of(row):
        fill_from_above()
        width, height = _span(cell, "colspan", MOST_TABLE_COLUMNS), _span(cell, "rowspan", MOST_TABLE_ROWS)
        for _ in range(min(width, MOST_TABLE_COLUMNS - len(placed))):
            if height > 1:
                still_open[len(placed)] = (height - 1, cell)
            placed.append(cell)
    while open_below and len(placed) < MOST_TABLE_COLUMNS:
        if len(placed) not in open_below:
            placed.append(None)
        fill_from_above()
    open_below.clear()
    open_below.update(still_open)
    return placed


def _span(cell: Element, name: str, most: int) -> int:
    written = cell.attr(name) or ""
    return min(max(int(written), 1), most) if written.isascii() and written.isdigit() and len(written) < 9 else 1


def _heads(rows: list[Element]) -> int:
    """Count the rows of titles: those of a thead, or those at the top that have no cell but th."""
    heads = 0
    for row in rows:
        cells = cells_of(row)
        in_head = isinstance(row.parent, Element) and row.parent.tag == "thead"
        if not in_head and (not cells or any(cell.tag == "td" for cell in cells)):
            break
        heads += 1
    return heads


def _plain_head(rows: list[list[Element | None]]) -> int:
    """Count one row of titles if the first has words in each cell, and the next has a number: not all know th."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    first, second = ([text_of(cell) for cell in row if cell is not None] for row in rows[:2])
    words = all(as_label(text) and not _has_digit(text) for text in first if text)
    return int(words and any(first) and any(map(_has_digit, second)))


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)
