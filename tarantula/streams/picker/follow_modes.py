"""Follow modes for picked elements: by place on the page, by table row, by titles, or every similar block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from turbohtml import Document, Element

from tarantula.streams.picker.pick import Pick
from tarantula.streams.picker.selector import selector_for, stable_classes
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, grid_of
from tarantula.streams.texts import fold_text


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


LEAST_BLOCKS = 2
"""Blocks that make a list."""
LEAST_VALUES = 3
"""Single values that make one."""
MOST_SIBLINGS = 1000
"""That are looked at."""
_NEVER = frozenset(
    {"html", "body", "head", "td", "th", "tbody", "thead", "tfoot", "table", "col", "colgroup", "option"}
)


class SimilarBlocks(NamedTuple):
    """Blocks of one kind."""

    css: str
    """Selects all of them."""
    blocks: list[Element]
    within: list[str]
    """Where what was pointed at is in each of them; ``:scope`` is the block itself."""


def find_similar_blocks(elements: Sequence[Element]) -> SimilarBlocks | None:
    """Return the blocks like the one that holds all these elements, if there are any."""
    found = [alike for block in _around(elements) if (alike := _alike(block, elements)) is not None]
    # The level with the most of them; a list of single values only where nothing larger repeats.
    return max(found, key=lambda alike: (alike.within != [":scope"], len(alike.blocks)), default=None)


def _around(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield the elements that hold all of these, from the inside."""
    first, *others = elements
    for candidate in (first, *(node for node in first.ancestors if isinstance(node, Element))):
        if candidate.tag not in _NEVER and all(one == candidate or candidate in one.ancestors for one in others):
            yield candidate


def _alike(block: Element, elements: Sequence[Element]) -> SimilarBlocks | None:
    parent = block.parent
    if not isinstance(parent, Element):
        return None
    siblings = [node for node in parent if isinstance(node, Element) and node.tag == block.tag][:MOST_SIBLINGS]
    if len(siblings) < LEAST_BLOCKS:
        return None
    classes = _common(block, siblings)
    kin = [one for one in siblings if set(classes) <= set((one.attr("class") or "").split())]
    within = [":scope" if one == block else selector_for(one, block) for one in elements]
    full = [one for one in kin if all(way == ":scope" or one.select_one(way) is not None for way in within)]
    least = LEAST_VALUES if within == [":scope"] else LEAST_BLOCKS
    if len(full) < least or len(full) * 2 < len(kin) or block not in kin:
        return None
    css = f"{selector_for(parent)} > {block.tag}{''.join(f'.{name}' for name in classes)}"
    found = _document(block).select(css)
    # Of a list that is longer than what is read of it, its beginning.
    chosen = found[: len(kin)] if len(siblings) == MOST_SIBLINGS else found
    return SimilarBlocks(css, kin, within) if chosen == kin else None


def _common(block: Element, siblings: Sequence[Element]) -> list[str]:
    """Return the classes of a block that others have as well."""
    owned = [(one.attr("class") or "").split() for one in siblings]
    return [name for name in stable_classes(block) if sum(name in classes for classes in owned) >= LEAST_BLOCKS]


def _document(element: Element) -> Document | Element:
    return next((node for node in element.ancestors if isinstance(node, Document)), element)


class FollowMode(StrEnum):
    """What stays the same from one reading to the next."""

    PLACE = "place"
    """The place on the page."""
    ROW_PLACE = "row-place"
    """The place of the row in its table: the first, whoever that is."""
    ROW_NAME = "row-name"
    """The name of the row, wherever it is."""
    TITLES = "titles"
    """The titles of row and column of each."""
    ALL_ROWS = "all-rows"
    """Every row of the table, by its name."""
    BLOCKS = "blocks"
    """Every block like the one that was pointed at, by its name."""
    NEWS = "news"
    """Every block like it, as news: what was not there before is an event."""


@dataclass(frozen=True, slots=True)
class FollowPlan:
    """One of them, as an adapter has it."""

    following: FollowMode
    adapter: str
    places: list[dict[str, Any]]
    """One for each that was pointed at."""
    options: dict[str, Any] = field(default_factory=dict)
    like: list[Element] = field(default_factory=list)
    """What else is read."""
    detail: str = ""
    """The name or the place of the row, or how many there are."""
    named_by: int | None = None
    """Which of those that were pointed at is the name of its block."""


def follow_plans(picks: Sequence[Pick]) -> list[FollowPlan]:
    """Return the ways in which these can be followed together, the best guess first."""
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
    like = [cell for row in cells.all_rows for column in cells.columns if column < len(row) and (cell := row[column])]
    yield FollowPlan(FollowMode.ALL_ROWS, "table", cells.places, table, like, str(len(cells.all_rows)))


def _one_row(cells: PickedCells, table: dict[str, Any]) -> Iterator[FollowPlan]:
    row, name = str(cells.rows[0]), cells.names[0]
    by_place = FollowPlan(
        FollowMode.ROW_PLACE, "table", cells.places, {**table, "rows": "places", "only": [row]}, [], row
    )
    by_name = FollowPlan(FollowMode.ROW_NAME, "table", cells.places, {**table, "only": [name]}, [], name)
    # Whoever follows the name of a row together with its values wants to know whose row it is by then.
    ways = [by_place, by_name] if cells.names_a_row else [by_name, by_place]
    return (way for way in ways if way is by_place or name)


def _blocks(picks: Sequence[Pick]) -> Iterator[FollowPlan]:
    alike = find_similar_blocks([pick.element for pick in picks])
    if alike is None:
        return
    places = [{"css": way, **pick.taken()} for way, pick in zip(alike.within, picks, strict=True)]
    texts = [[_text_in(block, way) for block in alike.blocks] for way in alike.within]
    like = [found for block in alike.blocks for way in alike.within if (found := _found_in(block, way)) is not None]
    options, count = {"block": alike.css}, str(len(alike.blocks))
    named_by = next((number for number, column in enumerate(texts) if len(picks) > 1 and _are_names(column)), None)
    if named_by is not None:
        yield FollowPlan(FollowMode.BLOCKS, "blocks", places, options, like, count, named_by)
    yield FollowPlan(FollowMode.NEWS, "blocks", places, options, like, count)


def _found_in(block: Element, way: str) -> Element | None:
    return block if way == ":scope" else block.select_one(way)


def _text_in(block: Element, way: str) -> str:
    found = _found_in(block, way)
    return text_of(found) if found is not None else ""


def _are_names(texts: Sequence[str]) -> bool:
    """Whether texts tell blocks apart, and are words."""
    return len(set(texts)) == len(texts) and all(any(map(str.isalpha, text)) for text in texts)
