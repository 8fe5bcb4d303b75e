"""Formulas worked out, for the rows of a table and for values in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import merge

from tarantula.streams.views.cells import TrackPoint, ViewCell, ViewColumn, ViewRecord, ViewTrack, format_result
from tarantula.streams.views.cells_part_summary import WindowSummary
from tarantula.streams.views.expression import Expression

FormulaColumns = Sequence[tuple[ViewColumn, Expression]]
WindowSummaries = Mapping[tuple[str, str], WindowSummary]
"""What the values of a window come to, by letter and row."""


def with_formulas(records: Iterable[ViewRecord], worked: FormulaColumns, windows: WindowSummaries) -> list[ViewRecord]:
    """Add to rows what is worked out of them; a value without rows counts for all of them."""
    rows = list(records)
    shared = {letter: cell.number for one in rows if not one.row for letter, cell in one.cells.items()}
    found = list[ViewRecord]()
    for record in rows:
        numbers = {**shared, **{letter: cell.number for letter, cell in record.cells.items()}}
        cells = dict(record.cells)
        for column, expression in worked:
            value = expression.value(numbers, _of_row(windows, record.row))
            if value is not None:
                at = max((cell.at or 0 for cell in record.cells.values()), default=0)
                cells[column.letter] = ViewCell(format_result(value), value, at or None)
        found.append(ViewRecord(record.row, cells, record.at))
    return found


def formula_tracks(tracks: Sequence[ViewTrack], worked: FormulaColumns, windows: WindowSummaries) -> list[ViewTrack]:
    """Return a track of each formula, for each row: at every moment at which one of its values changes."""
    rows = list(dict.fromkeys(track.row for track in tracks if track.row)) or [""]
    return [
        ViewTrack(column, row, _worked(_of(tracks, expression, row), expression, _of_row(windows, row)))
        for column, expression in worked
        for row in rows
        if _of(tracks, expression, row).keys() >= expression.letters
    ]


def _of(tracks: Sequence[ViewTrack], expression: Expression, row: str) -> dict[str, ViewTrack]:
    near = [track for track in tracks if track.row in ("", row) and track.column.letter in expression.letters]
    return {track.column.letter: track for track in sorted(near, key=lambda track: track.row)}


def _worked(
    tracks: Mapping[str, ViewTrack], expression: Expression, windows: Mapping[str, WindowSummary]
) -> list[TrackPoint]:
    latest: dict[str, float | None] = {}
    found = dict[int, TrackPoint]()
    changes = merge(*([(point.at, letter, point.value) for point in one.points] for letter, one in tracks.items()))
    for at, letter, value in changes:
        latest[letter] = value
        number = expression.value(latest, windows)
        if number is not None:
            found[at] = TrackPoint(at, number, WindowSummary(1, number, number, number, number, number))
    return list(found.values())


def _of_row(windows: WindowSummaries, row: str) -> dict[str, WindowSummary]:
    own = {letter: summary for (letter, of), summary in windows.items() if of == row}
    return {**{letter: summary for (letter, of), summary in windows.items() if not of}, **own}
