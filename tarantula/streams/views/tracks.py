"""Tracks of a view: the stored values of each row over time, and the results of formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.models import Series, Source, SourceState
from tarantula.streams import history
from tarantula.streams.kinds import ValueKind, default_aggregation
from tarantula.streams.sources.config import SourceConfig, SourceField
from tarantula.streams.sources.retention import Grain
from tarantula.streams.views.cells import (
    TrackPoint,
    ViewCell,
    ViewColumn,
    ViewRecord,
    ViewTrack,
    WindowSummary,
    format_result,
)
from tarantula.streams.views.config import ViewConfig, ViewPart, is_numeric_column
from tarantula.streams.views.expression import Expression
from tarantula.streams.views.filters import filter_tracks

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
