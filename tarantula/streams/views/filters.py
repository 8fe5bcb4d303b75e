"""Filter and sort the records and tracks of a view."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tarantula.streams.texts import fold_text
from tarantula.streams.views.cells import ViewCell, ViewRecord, ViewTrack
from tarantula.streams.views.config import AT, ROW, ViewCondition, ViewConfig, ViewOperator

_COMPARING: Mapping[ViewOperator, Callable[[Any, Any], bool]] = {
    ViewOperator.EQUAL: operator.eq,
    ViewOperator.UNEQUAL: operator.ne,
    ViewOperator.LESS: operator.lt,
    ViewOperator.AT_MOST: operator.le,
    ViewOperator.MORE: operator.gt,
    ViewOperator.AT_LEAST: operator.ge,
    ViewOperator.CONTAINS: lambda text, word: word in text,
    ViewOperator.CONTAINS_NOT: lambda text, word: word not in text,
}
_OF_WORDS = (ViewOperator.CONTAINS, ViewOperator.CONTAINS_NOT)


def meets_condition(cell: ViewCell | None, condition: ViewCondition) -> bool:
    """Whether a value is as a condition wants it; numbers are compared as numbers. What is missing fulfils nothing."""
    if cell is None:
        return False
    wanted = _number(condition.value)
    compare = _COMPARING[condition.operator]
    if condition.operator not in _OF_WORDS and cell.number is not None and wanted is not None:
        return compare(cell.number, wanted)
    return compare(fold_text(cell.text), fold_text(condition.value))


def filter_records(records: Iterable[ViewRecord], view: ViewConfig) -> list[ViewRecord]:
    """Return the rows that fulfil every condition, in the order that is wanted; what has no value comes last."""
    kept = [one for one in records if all(meets_condition(_of(one, wanted.of), wanted) for wanted in view.conditions)]
    if not view.order:
        return kept
    there = [one for one in kept if _of(one, view.order) is not None]
    without = [one for one in kept if _of(one, view.order) is None]
    return [*sorted(there, key=lambda one: _key(_of(one, view.order)), reverse=view.descending), *without]


def filter_tracks(tracks: Iterable[ViewTrack], view: ViewConfig) -> list[ViewTrack]:
    """Return tracks of the rows that are wanted, with the points whose values are."""
    kept = [
        track
        for track in tracks
        if all(meets_condition(ViewCell(track.row), wanted) for wanted in view.conditions if wanted.of == ROW)
    ]
    return [_chosen_points(track, [one for one in view.conditions if one.of == track.column.letter]) for track in kept]


def _chosen_points(track: ViewTrack, conditions: list[ViewCondition]) -> ViewTrack:
    points = [
        point
        for point in track.points
        if all(meets_condition(ViewCell(str(point.value), point.value), wanted) for wanted in conditions)
    ]
    return ViewTrack(track.column, track.row, points) if conditions else track


def _of(record: ViewRecord, name: str) -> ViewCell | None:
    if name == ROW:
        return ViewCell(record.row)
    if name == AT:
        at = record.at if record.at is not None else max((cell.at or 0 for cell in record.cells.values()), default=0)
        return ViewCell(str(at), float(at))
    return record.cells.get(name)


def _key(cell: ViewCell | None) -> tuple[bool, float, str]:
    assert cell is not None
    return (cell.number is None, cell.number or 0.0, fold_text(cell.text))


def _number(text: str) -> float | None:
    try:
        found = float(text.strip().replace(",", ".").replace("−", "-"))
    except ValueError:
        return None
    return found if found == found else None
