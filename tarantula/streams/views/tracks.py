"""The tracks of a view: values in time, of every row that is drawn, and of what is worked out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy.orm import Session

from tarantula.streams.sources.retention import Grain
from tarantula.streams.views.cells import TrackPoint, ViewTrack
from tarantula.streams.views.cells_part_summary import WindowSummary
from tarantula.streams.views.config import ViewConfig
from tarantula.streams.views.config_part_fitting import is_numeric_column
from tarantula.streams.views.filters import filter_tracks
from tarantula.streams.views.tracks_part_lines import SeriesLine
from tarantula.streams.views.tracks_part_past import load_series_history, summarize_window
from tarantula.streams.views.tracks_part_working import FormulaColumns, formula_tracks

MAX_TRACKS = 40


class TrackWindow(NamedTuple):
    """What is looked at, in microseconds since 1970."""

    begin: int
    end: int
    margin: float = 0.0
    """Windows on both sides."""
    most: int = 400
    """Points of one track."""


@dataclass(frozen=True, slots=True)
class TrackSet:
    """What there is to draw."""

    tracks: list[ViewTrack] = field(default_factory=list)
    grain: str = ""
    """The coarsest of them."""
    left_out: int = 0
    """Rows that are too many."""


def load_tracks(
    session: Session,
    view: ViewConfig,
    lines: Sequence[SeriesLine],
    worked: FormulaColumns,
    stretch: TrackWindow,
    until: Mapping[str, int | None],
) -> TrackSet:
    """Return the tracks of a stretch of time; *until* says when each source was seen to be as it is."""
    drawn = [line for line in lines if is_numeric_column(line.column)]
    around = int((stretch.end - stretch.begin) * stretch.margin)
    begin, end = max(stretch.begin - around, 0), stretch.end + around
    pasts = [
        (line, load_series_history(session, line.series, line.field, begin, end, stretch.most))
        for line in drawn[:MAX_TRACKS]
    ]
    # Of a row that has left, only what it was while it was there.
    pasts = [(line, past) for line, past in pasts if not line.is_gone or any(one.summary.count for one in past.points)]
    own = [ViewTrack(line.column, line.row, past.points) for line, past in pasts]
    wanted = {letter for _column, expression in worked for letter in expression.windowed}
    windows = {
        (line.column.letter, line.row): summarize_window(session, line.series, stretch.begin, stretch.end)
        for line, _past in pasts
        if line.column.letter in wanted
    }
    tracks = filter_tracks([*own, *formula_tracks(own, worked, windows)], view)
    grain = max((past.grain for _line, past in pasts), default=Grain.EVENT)
    if grain == Grain.EVENT:
        gone = {(line.column.letter, line.row) for line, _past in pasts if line.is_gone}
        tracks = [track if (track.column.letter, track.row) in gone else _held(track, until, end) for track in tracks]
    return TrackSet(tracks, grain.name.lower(), max(len(drawn) - MAX_TRACKS, 0))


def _held(track: ViewTrack, until: Mapping[str, int | None], end: int) -> ViewTrack:
    """Return a track that goes on until its source was read last: the value was seen to be the same."""
    of = until.get(track.column.source) if track.column.source else min((at or 0 for at in until.values()), default=0)
    last = min(of or 0, end)
    if not track.points or track.points[-1].at >= last:
        return track
    # It counts for nothing: it is the same value.
    return ViewTrack(
        track.column, track.row, [*track.points, TrackPoint(last, track.points[-1].value, WindowSummary())]
    )
