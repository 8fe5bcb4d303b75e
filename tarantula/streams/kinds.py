"""What a value can be, and how many of them are summed up as one."""

from __future__ import annotations

from enum import StrEnum


class ValueKind(StrEnum):
    """What a value is."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    PERCENTAGE = "percentage"
    MONEY = "money"
    QUANTITY = "quantity"
    """A number with a unit of measure."""
    MOMENT = "moment"
    """A date, a time, or both."""
    DURATION = "duration"
    URL = "url"
    TEXT = "text"

    @property
    def is_number(self) -> bool:
        """Whether values can be added, compared and drawn."""
        return self not in (ValueKind.URL, ValueKind.TEXT)


class Aggregation(StrEnum):
    """Which value stands for all those of a minute, an hour, a day."""

    AVERAGE = "average"
    SUM = "sum"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    FIRST = "first"
    LAST = "last"
    MODE = "mode"
    COUNT = "count"


def default_aggregation(kind: ValueKind) -> Aggregation:
    """Return how values are summed up unless somebody says otherwise."""
    if kind in (ValueKind.MOMENT, ValueKind.URL, ValueKind.TEXT):
        return Aggregation.LAST
    return Aggregation.AVERAGE
