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
_TEXT_OPERATORS = (ViewOperator.CONTAINS, ViewOperator.CONTAINS_NOT)


def meets_condition(cell: ViewCell | None, condition: ViewCondition) -> bool:
    """Whether a value meets a condition. Numbers are compared as numbers; a missing value meets none."""
    if cell is None:
        return False
    limit = _number(condition.value)
    compare = _COMPARING[condition.operator]
    if condition.operator not in _TEXT_OPERATORS and cell.number is not None and limit is not None:
        return compare(cell.number, limit)
    return compare(fold_text(cell.text), fold_text(condition.value))


def filter_records(records: Iterable[ViewRecord], view: ViewConfig) -> list[ViewRecord]:
    """Return the records that meet all conditions, sorted; records without a value to sort by come last."""
    selected = [
        one
        for one in records
        if all(meets_condition(_cell(one, condition.of), condition) for condition in view.conditions)
    ]
    if not view.order:
        return selected
    with_value = [one for one in selected if _cell(one, view.order) is not None]
    without_value = [one for one in selected if _cell(one, view.order) is None]
    return [*sorted(with_value, key=lambda one: _key(_cell(one, view.order)), reverse=view.descending), *without_value]


def filter_tracks(tracks: Iterable[ViewTrack], view: ViewConfig) -> list[ViewTrack]:
    """Return the tracks whose row meets the conditions, with the points whose values do."""
    selected = [
        track
        for track in tracks
        if all(meets_condition(ViewCell(track.row), condition) for condition in view.conditions if condition.of == ROW)
    ]
    return [
        _filter_points(track, [one for one in view.conditions if one.of == track.column.letter]) for track in selected
    ]


def _filter_points(track: ViewTrack, conditions: list[ViewCondition]) -> ViewTrack:
    points = [
        point
        for point in track.points
        if all(meets_condition(ViewCell(str(point.value), point.value), condition) for condition in conditions)
    ]
    return ViewTrack(track.column, track.row, points) if conditions else track


def _cell(record: ViewRecord, name: str) -> ViewCell | None:
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
        number = float(text.strip().replace(",", ".").replace("−", "-"))
    except ValueError:
        return None
    return number if number == number else None
