"""Which rows are shown, and in which order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tarantula.streams.texts_part_words import folded
from tarantula.streams.views.cells import Cell, Record, Track
from tarantula.streams.views.config import AT, ROW, Condition, Operator, ViewConfig

_COMPARING: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.UNEQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.MORE: operator.gt,
    Operator.AT_LEAST: operator.ge,
    Operator.CONTAINS: lambda text, word: word in text,
    Operator.CONTAINS_NOT: lambda text, word: word not in text,
}
_OF_WORDS = (Operator.CONTAINS, Operator.CONTAINS_NOT)


def fulfils(cell: Cell | None, condition: Condition) -> bool:
    """Whether a value is as a condition wants it; numbers are compared as numbers. What is missing fulfils nothing."""
    if cell is None:
        return False
    wanted = _number(condition.value)
    compare = _COMPARING[condition.operator]
    if condition.operator not in _OF_WORDS and cell.number is not None and wanted is not None:
        return compare(cell.number, wanted)
    return compare(folded(cell.text), folded(condition.value))


def chosen(records: Iterable[Record], view: ViewConfig) -> list[Record]:
    """Return the rows that fulfil every condition, in the order that is wanted; what has no value comes last."""
    kept = [one for one in records if all(fulfils(_of(one, wanted.of), wanted) for wanted in view.conditions)]
    if not view.order:
        return kept
    there = [one for one in kept if _of(one, view.order) is not None]
    without = [one for one in kept if _of(one, view.order) is None]
    return [*sorted(there, key=lambda one: _key(_of(one, view.order)), reverse=view.descending), *without]


def chosen_points(tracks: Iterable[Track], view: ViewConfig) -> list[Track]:
    """Return tracks of the rows that are wanted, with the points whose values are."""
    kept = [
        track
        for track in tracks
        if all(fulfils(Cell(track.row), wanted) for wanted in view.conditions if wanted.of == ROW)
    ]
    return [_chosen_points(track, [one for one in view.conditions if one.of == track.column.letter]) for track in kept]


def _chosen_points(track: Track, conditions: list[Condition]) -> Track:
    points = [
        point
        for point in track.points
        if all(fulfils(Cell(str(point.value), point.value), wanted) for wanted in conditions)
    ]
    return Track(track.column, track.row, points) if conditions else track


def _of(record: Record, name: str) -> Cell | None:
    if name == ROW:
        return Cell(record.row)
    if name == AT:
        at = record.at if record.at is not None else max((cell.at or 0 for cell in record.cells.values()), default=0)
        return Cell(str(at), float(at))
    return record.cells.get(name)


def _key(cell: Cell | None) -> tuple[bool, float, str]:
    assert cell is not None
    return (cell.number is None, cell.number or 0.0, folded(cell.text))


def _number(text: str) -> float | None:
    try:
        found = float(text.strip().replace(",", ".").replace("−", "-"))
    except ValueError:
        return None
    return found if found == found else None
