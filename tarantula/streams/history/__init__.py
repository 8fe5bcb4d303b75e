"""What was read, over time: events, levels of minute, hour, day, month and year built from them, and their end."""

from tarantula.streams.history.drawing import Point, Points, points, points_of, total
from tarantula.streams.history.forgetting import Forgot, forget
from tarantula.streams.history.reading import events, last_values
from tarantula.streams.history.series import series_of, series_of_many
from tarantula.streams.history.storing import NewEvent, Stored, store, store_telling
from tarantula.streams.history.summary import Summary
from tarantula.streams.history.summing import sum_up

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
