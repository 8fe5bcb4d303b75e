"""History of streams: events, levels (minute, hour, day, month, year) aggregated from them, charts and retention."""

from tarantula.deprecated import former_names
from tarantula.streams.history.charts import HistoryPoint, HistoryPoints, chart_points, chart_points_of, window_summary
from tarantula.streams.history.events import (
    NewEvent,
    StoreResult,
    last_values,
    newest_events,
    series_of,
    series_of_many,
    store_events,
    store_events_with_result,
)
from tarantula.streams.history.levels import aggregate_levels, moment_of
from tarantula.streams.history.retention import ForgottenRows, apply_retention
from tarantula.streams.history.summary import ValueSummary

__all__ = [
    "ForgottenRows",
    "HistoryPoint",
    "HistoryPoints",
    "NewEvent",
    "StoreResult",
    "ValueSummary",
    "aggregate_levels",
    "apply_retention",
    "chart_points",
    "chart_points_of",
    "last_values",
    "moment_of",
    "newest_events",
    "series_of",
    "series_of_many",
    "store_events",
    "store_events_with_result",
    "window_summary",
]

# Not as a function, which would make every name of this module valid for type checkers.
globals()["__getattr__"] = former_names(__name__)
