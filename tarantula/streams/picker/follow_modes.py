"""Follow modes for picked elements: by place on the page, by table row, by titles, or every similar block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from turbohtml import Document, Element

from tarantula.streams.picker.pick import Pick, selector_for, stable_classes
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, grid_of
from tarantula.streams.texts import fold_text

LEAST_BLOCKS = 2
"""Smallest number of blocks in a list."""
LEAST_VALUES = 3
"""Smallest number of single values in a list."""
MOST_SIBLINGS = 1000
"""Maximum number of siblings to compare."""
_NOT_BLOCKS = frozenset(
    {"html", "body", "head", "td", "th", "tbody", "thead", "tfoot", "table", "col", "colgroup", "option"}
)


class PickedCells(NamedTuple):
    """Positions of all picked elements in one table."""

    table: str
    """CSS selector of the table."""
    places: list[dict[str, Any]]
    """Place of each picked element's column."""
    rows: list[int]
    """Row of each picked element, counted from 1 below the titles."""
    names: list[str]
    """Names of these rows."""
    names_a_row: bool
    """Whether one of the picked elements is the name of its row."""
    all_rows: list[list[Element | None]]
    columns: list[int]


def picked_cells(picks: Sequence[Pick]) -> PickedCells | None:
    """Return the table positions of all picks, or None if they are not all cells of one table."""
    cells = [pick.element.closest("td, th") for pick in picks]
    tables = {cell.closest("table") if cell is not None else None for cell in cells}
    table = next(iter(tables)) if len(tables) == 1 else None
    if table is None:
        return None
    grid = grid_of(table)
    body = [cells for cells in grid.rows[grid.header_rows :] if len(set(cells)) > 1]
    rows: list[int] = []
    columns: list[int] = []
    for cell in cells:
        row = next((number for number, known in enumerate(body, 1) if cell in known), 0)
        if cell is None or not row:
            return None
        rows.append(row)
        columns.append(grid.places[cell][1])
    naming = [_naming_cell(body[row - 1]) for row in rows]
    return PickedCells(
        selector_for(table),
        [{**_column(grid, column), **pick.part_options()} for column, pick in zip(columns, picks, strict=True)],
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


def _naming_cell(cells: Sequence[Element | None]) -> Element | None:
    """Return the cell that names a row, as in the `table` adapter: the first with a letter."""
    there = [cell for cell in cells if cell is not None and text_of(cell)]
    return next((cell for cell in there if any(map(str.isalpha, text_of(cell)))), next(iter(there), None))


class SimilarBlocks(NamedTuple):
    """A list of similar blocks."""

    css: str
    """CSS selector of all blocks."""
    blocks: list[Element]
    within: list[str]
    """Selector of each picked element within a block; ``:scope`` is the block itself."""


def find_similar_blocks(elements: Sequence[Element]) -> SimilarBlocks | None:
    """Return the list of blocks similar to the one that contains all these elements, if any."""
    found = [
        similar for block in _common_ancestors(elements) if (similar := _similar_blocks(block, elements)) is not None
    ]
    # Prefer the level with the most blocks; use a list of single values only if no larger block repeats.
    return max(found, key=lambda similar: (similar.within != [":scope"], len(similar.blocks)), default=None)


def _common_ancestors(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield the ancestors that contain all these elements, innermost first."""
    first, *others = elements
    for candidate in (first, *(node for node in first.ancestors if isinstance(node, Element))):
        if candidate.tag not in _NOT_BLOCKS and all(one == candidate or candidate in one.ancestors for one in others):
            yield candidate


def _similar_blocks(block: Element, elements: Sequence[Element]) -> SimilarBlocks | None:
    parent = block.parent
    if not isinstance(parent, Element):
        return None
    siblings = [node for node in parent if isinstance(node, Element) and node.tag == block.tag][:MOST_SIBLINGS]
    if len(siblings) < LEAST_BLOCKS:
        return None
    classes = _shared_classes(block, siblings)
    blocks = [one for one in siblings if set(classes) <= set((one.attr("class") or "").split())]
    within = [":scope" if one == block else selector_for(one, block) for one in elements]
    full = [one for one in blocks if all(path == ":scope" or one.select_one(path) is not None for path in within)]
    least = LEAST_VALUES if within == [":scope"] else LEAST_BLOCKS
    if len(full) < least or len(full) * 2 < len(blocks) or block not in blocks:
        return None
    css = f"{selector_for(parent)} > {block.tag}{''.join(f'.{name}' for name in classes)}"
    found = _document(block).select(css)
    # Only the first MOST_SIBLINGS siblings were compared.
    chosen = found[: len(blocks)] if len(siblings) == MOST_SIBLINGS else found
    return SimilarBlocks(css, blocks, within) if chosen == blocks else None


def _shared_classes(block: Element, siblings: Sequence[Element]) -> list[str]:
    """Return the stable classes that the block shares with its siblings."""
    owned = [(one.attr("class") or "").split() for one in siblings]
    return [name for name in stable_classes(block) if sum(name in classes for classes in owned) >= LEAST_BLOCKS]


def _document(element: Element) -> Document | Element:
    return next((node for node in element.ancestors if isinstance(node, Document)), element)


class FollowMode(StrEnum):
    """What identifies the followed values from one reading to the next."""

    PLACE = "place"
    """The place on the page."""
    ROW_PLACE = "row-place"
    """The place of the row in its table, such as first place."""
    ROW_NAME = "row-name"
    """The name of the row."""
    TITLES = "titles"
    """The titles of each value's row and column."""
    ALL_ROWS = "all-rows"
    """Every row of the table, by name."""
    BLOCKS = "blocks"
    """Every similar block, by name."""
    NEWS = "news"
    """Every similar block; new blocks are events."""


@dataclass(frozen=True, slots=True)
class FollowPlan:
    """Adapter configuration for one follow mode."""

    mode: FollowMode
    adapter: str
    places: list[dict[str, Any]]
    """Place of each picked element."""
    options: dict[str, Any] = field(default_factory=dict)
    similar_elements: list[Element] = field(default_factory=list)
    """Other elements that will be read."""
    detail: str = ""
    """Name or place of the row, or the number of rows or blocks."""
    named_by: int | None = None
    """Index of the picked element that names its block."""


def follow_plans(picks: Sequence[Pick]) -> list[FollowPlan]:
    """Return the plans that can follow all picks together, the most likely first."""
    if not picks:
        return []
    placed = FollowPlan(FollowMode.PLACE, "page", [pick.place() for pick in picks])
    cells = picked_cells(picks)
    if cells is not None:
        return [*_by_titles(cells), placed]
    return [placed, *_blocks(picks)]


def _by_titles(cells: PickedCells) -> Iterator[FollowPlan]:
    table = {"table": cells.table}
    if len(set(cells.rows)) > 1:
        if all(cells.names):
            titles = [{**place, "row": name} for place, name in zip(cells.places, cells.names, strict=True)]
            yield FollowPlan(FollowMode.TITLES, "table", titles, table)
    else:
        yield from _one_row(cells, table)
    similar_elements = [
        cell for row in cells.all_rows for column in cells.columns if column < len(row) and (cell := row[column])
    ]
    yield FollowPlan(FollowMode.ALL_ROWS, "table", cells.places, table, similar_elements, str(len(cells.all_rows)))


def _one_row(cells: PickedCells, table: dict[str, Any]) -> Iterator[FollowPlan]:
    row, name = str(cells.rows[0]), cells.names[0]
    by_place = FollowPlan(
        FollowMode.ROW_PLACE, "table", cells.places, {**table, "rows": "places", "only": [row]}, [], row
    )
    by_name = FollowPlan(FollowMode.ROW_NAME, "table", cells.places, {**table, "only": [name]}, [], name)
    # A person who picks the row's name with its values wants to know who holds that place.
    ways = [by_place, by_name] if cells.names_a_row else [by_name, by_place]
    return (path for path in ways if path is by_place or name)


def _blocks(picks: Sequence[Pick]) -> Iterator[FollowPlan]:
    similar = find_similar_blocks([pick.element for pick in picks])
    if similar is None:
        return
    places = [{"css": path, **pick.part_options()} for path, pick in zip(similar.within, picks, strict=True)]
    texts = [[_text_in(block, path) for block in similar.blocks] for path in similar.within]
    similar_elements = [
        found for block in similar.blocks for path in similar.within if (found := _element_in(block, path)) is not None
    ]
    options, count = {"block": similar.css}, str(len(similar.blocks))
    named_by = next((number for number, column in enumerate(texts) if len(picks) > 1 and _are_names(column)), None)
    if named_by is not None:
        yield FollowPlan(FollowMode.BLOCKS, "blocks", places, options, similar_elements, count, named_by)
    yield FollowPlan(FollowMode.NEWS, "blocks", places, options, similar_elements, count)


def _element_in(block: Element, path: str) -> Element | None:
    return block if path == ":scope" else block.select_one(path)


def _text_in(block: Element, path: str) -> str:
    found = _element_in(block, path)
    return text_of(found) if found is not None else ""


def _are_names(texts: Sequence[str]) -> bool:
    """Whether all texts are distinct and contain letters."""
    return len(set(texts)) == len(texts) and all(any(map(str.isalpha, text)) for text in texts)
