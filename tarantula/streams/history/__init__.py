"""What was read, over time: events, levels of minute, hour, day, month and year built from them, and their end."""

from tarantula.streams.history.events import NewEvent, Stored, store, store_telling
from tarantula.streams.history.events_part_reading import events, last_values
from tarantula.streams.history.levels_part_summing import sum_up
from tarantula.streams.history.points import Point, Points, points, points_of, total
from tarantula.streams.history.retention import Forgot, forget
from tarantula.streams.history.series import series_of, series_of_many
from tarantula.streams.history.summary import Summary

__all__ = [
    "Forgot",
    "NewEvent",
    "Point",
    "Points",
    "Stored",
    "Summary",
    "events",
    "forget",
    "last_values",
    "points",
    "points_of",
    "series_of",
    "series_of_many",
    "store",
    "store_telling",
    "sum_up",
    "total",
]
