"""What was read, over time: events, levels of minute, hour, day, month and year built from them, and their end."""

from tarantula.streams.history.reading import events, last_values
from tarantula.streams.history.series import series_of
from tarantula.streams.history.storing import NewEvent, Stored, store, store_telling
from tarantula.streams.history.summing import sum_up

__all__ = [
    "NewEvent",
    "Stored",
    "events",
    "last_values",
    "series_of",
    "store",
    "store_telling",
    "sum_up",
]
