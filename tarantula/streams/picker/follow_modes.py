"""The ways in which what was pointed at can be followed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from turbohtml import Element

from tarantula.streams.picker.follow_modes_part_alike import find_similar_blocks
from tarantula.streams.picker.follow_modes_part_rows import PickedCells, picked_cells
from tarantula.streams.picker.pick import Pick
from tarantula.streams.relocate.page_text import text_of


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
