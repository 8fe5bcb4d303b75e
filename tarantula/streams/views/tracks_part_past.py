"""The past of one series, for drawing."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from tarantula.streams import history
from tarantula.streams.kinds import ValueKind, default_aggregation
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.sources.retention import Grain
from tarantula.streams.views.cells import TrackPoint
from tarantula.streams.views.cells_part_summary import WindowSummary


@dataclass(frozen=True, slots=True)
class SeriesHistory:
    """What there was between two moments."""

    grain: Grain
    points: list[TrackPoint]
    sentence: str
    """What of it is not exact, and why."""


def load_series_history(
    session: Session, series: int, field: SourceField, begin: int, end: int, most: int
) -> SeriesHistory:
    """Return what is drawn of a series; where it shows single values, also the one that held at the beginning."""
    found = history.chart_points(session, series, begin, end, most)
    aggregation = field.aggregation or default_aggregation(field.kind or ValueKind.TEXT)
    points = list[TrackPoint]()
    for one in found.points:
        number = one.number(aggregation)
        if number is not None:
            points.append(TrackPoint(one.at, number, _summary(one.summary)))
    held = _number(found.before)
    if found.grain == Grain.EVENT and held is not None:
        # It was read before, and counts for nothing here.
        points.insert(0, TrackPoint(found.begin, held, WindowSummary()))
    return SeriesHistory(found.grain, points, found.sentence)


def summarize_window(session: Session, series: int, begin: int, end: int) -> WindowSummary:
    """Return what the values of a window come to."""
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
