"""Tracks of a view: one line per field and row, with the rows that its filters keep."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.models import Series, Source, SourceState
from tarantula.streams import history
from tarantula.streams.kinds import ValueKind, default_aggregation
from tarantula.streams.sources.config import SourceConfig, SourceField
from tarantula.streams.sources.retention import Grain
from tarantula.streams.texts import fold_text
from tarantula.streams.views.cells import (
    TrackPoint,
    ViewCell,
    ViewColumn,
    ViewRecord,
    ViewTrack,
    WindowSummary,
    format_result,
)
from tarantula.streams.views.config import AT, ROW, ViewCondition, ViewConfig, ViewOperator, ViewPart, is_numeric_column
from tarantula.streams.views.expression import Expression

FormulaColumns = Sequence[tuple[ViewColumn, Expression]]
WindowSummaries = Mapping[tuple[str, str], WindowSummary]
"""Summary of the window by letter and row."""
MAX_TRACKS = 40


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """A stored series of a view: one row of one column."""

    column: ViewColumn
    field: SourceField
    row: str
    series: int
    is_gone: bool
    """Whether the row was missing at the last reading; it has a history but no current value."""


def load_lines(
    session: Session,
    view: ViewConfig,
    sources: Mapping[str, tuple[Source, SourceState]],
    configs: Mapping[str, SourceConfig],
    columns: Mapping[int, ViewColumn],
) -> list[SeriesLine]:
    """Return the series of a view, given the columns of its parts by index."""
    ids = {source.id: name for name, (source, _state) in sources.items()}
    stored = dict[tuple[str, str], list[tuple[str, int]]]()
    for series in session.scalars(select(Series).where(Series.source_id.in_(ids)).order_by(Series.id)):
        stored.setdefault((ids[series.source_id], series.field), []).append((series.row, series.id))
    row_positions = {name: _row_positions(state) for name, (_source, state) in sources.items()}
    lines = list[SeriesLine]()
    for index, column in columns.items():
        part = view.parts[index]
        config, positions = configs[part.source], row_positions[part.source]
        field, hides_missing = config.field(part.field), _drops_missing_rows(part, config, positions)
        rows = [one for one in stored.get((part.source, part.field), ()) if part.row in (None, one[0])]
        # Current rows in the order of the page, then others in order of creation.
        rows.sort(key=lambda one: positions.get(one[0], len(positions)))
        lines += [
            SeriesLine(column, field, row, number, hides_missing and row not in positions) for row, number in rows
        ]
    return lines


def _row_positions(state: SourceState) -> dict[str, int]:
    """Return the index of each row at the last reading."""
    return {row: place for place, row in enumerate(state.memory.get("rows", ()))}


def _drops_missing_rows(part: ViewPart, config: SourceConfig, positions: Mapping[str, int]) -> bool:
    """Whether rows that left the page are hidden: yes, unless they were selected by name."""
    return bool(positions) and part.row is None and not config.options.get("only")


@dataclass(frozen=True, slots=True)
class SeriesHistory:
    """Points of one series in a window."""

    grain: Grain
    points: list[TrackPoint]
    sentence: str
    """Inexact parts, with the reason."""


def load_series_history(
    session: Session, series: int, field: SourceField, begin: int, end: int, most: int
) -> SeriesHistory:
    """Return the points of a series; if they are single events, the value that held at the start is the first."""
    found = history.chart_points(session, series, begin, end, most)
    aggregation = field.aggregation or default_aggregation(field.kind or ValueKind.TEXT)
    points = list[TrackPoint]()
    for one in found.points:
        number = one.number(aggregation)
        if number is not None:
            points.append(TrackPoint(one.at, number, _summary(one.summary)))
    held = _number(found.before)
    if found.grain == Grain.EVENT and held is not None:
        # It was read before the window, so its summary is empty.
        points.insert(0, TrackPoint(found.begin, held, WindowSummary()))
    return SeriesHistory(found.grain, points, found.sentence)


def summarize_window(session: Session, series: int, begin: int, end: int) -> WindowSummary:
    """Return the summary of a series in a window."""
    found = history.window_summary(session, series, begin, end)
    return WindowSummary() if found is None else _summary(found)


def _summary(found: history.ValueSummary) -> WindowSummary:
    total = None if found.sum is None else float(found.sum)
    numbers = (_number(text) for text in (found.minimum, found.maximum, found.first, found.last))
    return WindowSummary(found.count, total, *numbers)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def with_formulas(
    records: Iterable[ViewRecord], formulas: FormulaColumns, windows: WindowSummaries
) -> list[ViewRecord]:
    """Add the results of formulas to records; values without a row apply to all rows."""
    rows = list(records)
    shared = {letter: cell.number for one in rows if not one.row for letter, cell in one.cells.items()}
    found = list[ViewRecord]()
    for record in rows:
        numbers = {**shared, **{letter: cell.number for letter, cell in record.cells.items()}}
        cells = dict(record.cells)
        for column, expression in formulas:
            value = expression.value(numbers, _of_row(windows, record.row))
            if value is not None:
                at = max((cell.at or 0 for cell in record.cells.values()), default=0)
                cells[column.letter] = ViewCell(format_result(value), value, at or None)
        found.append(ViewRecord(record.row, cells, record.at))
    return found


def formula_tracks(tracks: Sequence[ViewTrack], formulas: FormulaColumns, windows: WindowSummaries) -> list[ViewTrack]:
    """Return a track for each formula and row, with a point whenever one of its values changes."""
    rows = list(dict.fromkeys(track.row for track in tracks if track.row)) or [""]
    return [
        ViewTrack(column, row, _worked(_of(tracks, expression, row), expression, _of_row(windows, row)))
        for column, expression in formulas
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


class TrackWindow(NamedTuple):
    """Window of a chart, in microseconds since 1970."""

    begin: int
    end: int
    margin: float = 0.0
    """Extension on both sides, in multiples of the window."""
    most: int = 400
    """Maximum number of points of one track."""


@dataclass(frozen=True, slots=True)
class TrackSet:
    """Tracks of a view."""

    tracks: list[ViewTrack] = field(default_factory=list)
    grain: str = ""
    """Coarsest level of the tracks."""
    left_out: int = 0
    """Number of rows without a track."""


def load_tracks(
    session: Session,
    view: ViewConfig,
    lines: Sequence[SeriesLine],
    formulas: FormulaColumns,
    stretch: TrackWindow,
    until: Mapping[str, int | None],
) -> TrackSet:
    """Load the tracks of a window; *until* is the time of the last successful reading of each source."""
    drawn = [line for line in lines if is_numeric_column(line.column)]
    around = int((stretch.end - stretch.begin) * stretch.margin)
    begin, end = max(stretch.begin - around, 0), stretch.end + around
    pasts = [
        (line, load_series_history(session, line.series, line.field, begin, end, stretch.most))
        for line in drawn[:MAX_TRACKS]
    ]
    # A row that left the page has a track only if it has values in the window.
    pasts = [(line, past) for line, past in pasts if not line.is_gone or any(one.summary.count for one in past.points)]
    own = [ViewTrack(line.column, line.row, past.points) for line, past in pasts]
    wanted = {letter for _column, expression in formulas for letter in expression.windowed}
    windows = {
        (line.column.letter, line.row): summarize_window(session, line.series, stretch.begin, stretch.end)
        for line, _past in pasts
        if line.column.letter in wanted
    }
    tracks = filter_tracks([*own, *formula_tracks(own, formulas, windows)], view)
    grain = max((past.grain for _line, past in pasts), default=Grain.EVENT)
    if grain == Grain.EVENT:
        gone = {(line.column.letter, line.row) for line, _past in pasts if line.is_gone}
        tracks = [track if (track.column.letter, track.row) in gone else _held(track, until, end) for track in tracks]
    return TrackSet(tracks, grain.name.lower(), max(len(drawn) - MAX_TRACKS, 0))


def _held(track: ViewTrack, until: Mapping[str, int | None], end: int) -> ViewTrack:
    """Extend a track to the last reading of its source, which had the same value."""
    of = until.get(track.column.source) if track.column.source else min((at or 0 for at in until.values()), default=0)
    last = min(of or 0, end)
    if not track.points or track.points[-1].at >= last:
        return track
    # The value is the same, so the summary is empty.
    return ViewTrack(
        track.column, track.row, [*track.points, TrackPoint(last, track.points[-1].value, WindowSummary())]
    )


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
    limit = _filter_number(condition.value)
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


def _filter_number(text: str) -> float | None:
    try:
        number = float(text.strip().replace(",", ".").replace("−", "-"))
    except ValueError:
        return None
    return number if number == number else None
