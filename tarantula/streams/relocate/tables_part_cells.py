"""Titles of the row and of the column that a value is in."""

from __future__ import annotations

from turbohtml import Element

from tarantula.streams.relocate.page_text import as_label, as_title, text_of
from tarantula.streams.relocate.tables import CELL_TAGS, TableGrid


def row_title(grid: TableGrid, cell: Element, values: frozenset[Element]) -> str:
    """Return the words that a row begins with; its number, if it is only numbered; nothing if they are a value."""
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
    """Return the words right above a column, and those above them."""
    row, column = grid.places[cell]
    if row < grid.heads:
        return "", ""
    *above, title = grid.titles_of(column) or [""]
    return as_title(title), as_title(" ".join(above))


def title_above(element: Element) -> str:
    """Return the words above a value in rows that are no table: those of the first row, if it has as many parts."""
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
        parts, first = _elements(row), next(iter(_elements(rows)), row)
        texts = [text_of(part) for part in _elements(first)] if first is not row else []
        titles = [as_title(text) if not any(map(str.isdigit, text)) else "" for text in texts]
        if len(parts) > 1 and len(titles) == len(parts) and all(titles) and first.tag == row.tag:
            return titles[parts.index(node)]
        node = row
    return ""


def contains_any(element: Element, values: frozenset[Element]) -> bool:
    """Whether one of some values is in an element, or is it."""
    return any(value is element or element in value.ancestors for value in values)


def _elements(parent: Element) -> list[Element]:
    return [child for child in parent.children if isinstance(child, Element)]
