"""Cells of a table, by the titles of their columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from turbohtml import Element

from tarantula.streams.picker.pick import Pick
from tarantula.streams.picker.selector import selector_for
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, grid_of
from tarantula.streams.texts_part_words import fold_text


class PickedCells(NamedTuple):
    """Where in one table everything is that was pointed at."""

    table: str
    """A selector of the table."""
    places: list[dict[str, Any]]
    """The columns, one for each."""
    rows: list[int]
    """The rows, one for each, counted from 1 below the titles."""
    names: list[str]
    """What these rows are called."""
    names_a_row: bool
    """Whether one of them is what its row is called by."""
    all_rows: list[list[Element | None]]
    columns: list[int]


def picked_cells(picks: Sequence[Pick]) -> PickedCells | None:
    """Return where in a table all of these are, or nothing if they are not all cells of one table."""
    cells = [pick.element.closest("td, th") for pick in picks]
    tables = {cell.closest("table") if cell is not None else None for cell in cells}
    table = next(iter(tables)) if len(tables) == 1 else None
    if table is None:
        return None
    grid = grid_of(table)
    body = [cells for cells in grid.rows[grid.heads :] if len(set(cells)) > 1]
    rows: list[int] = []
    columns: list[int] = []
    for cell in cells:
        row = next((number for number, known in enumerate(body, 1) if cell in known), 0)
        if cell is None or not row:
            return None
        rows.append(row)
        columns.append(grid.places[cell][1])
    naming = [_naming(body[row - 1]) for row in rows]
    return PickedCells(
        selector_for(table),
        [{**_column(grid, column), **pick.taken()} for column, pick in zip(columns, picks, strict=True)],
        rows,
        [text_of(cell) if cell is not None else "" for cell in naming],
        any(cell == name for cell, name in zip(cells, naming, strict=True)),
        body,
        columns,
    )


def _column(grid: TableGrid, column: int) -> dict[str, Any]:
    titles = [fold_text(title) for title in grid.titles()]
    if titles[column] and titles.count(titles[column]) == 1:
        return {"column": grid.title_of(column)}
    return {"number": column + 1} | ({"column": grid.title_of(column)} if titles[column] else {})


def _naming(cells: Sequence[Element | None]) -> Element | None:
    """Return the cell that names a row, as the adapter has it: the first with a letter."""
    there = [cell for cell in cells if cell is not None and text_of(cell)]
    return next((cell for cell in there if any(map(str.isalpha, text_of(cell)))), next(iter(there), None))
