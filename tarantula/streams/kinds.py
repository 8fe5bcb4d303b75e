"""Kinds of values, and the aggregations that summarise many values as one."""

from __future__ import annotations

from enum import StrEnum


class ValueKind(StrEnum):
    """Kind of a value."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    PERCENTAGE = "percentage"
    MONEY = "money"
    QUANTITY = "quantity"
    """Number with a unit of measure."""
    MOMENT = "moment"
    """Date, time of day, or both."""
    DURATION = "duration"
    URL = "url"
    TEXT = "text"

    @property
    def is_number(self) -> bool:
        """Whether values can be added, compared and charted."""
        return self not in (ValueKind.URL, ValueKind.TEXT)


class Aggregation(StrEnum):
    """How many values of a minute, hour or day become one."""

    AVERAGE = "average"
    SUM = "sum"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    FIRST = "first"
    LAST = "last"
    MODE = "mode"
    COUNT = "count"


def default_aggregation(kind: ValueKind) -> Aggregation:
    """Return the aggregation of a kind unless the field sets one."""
    if kind in (ValueKind.MOMENT, ValueKind.URL, ValueKind.TEXT):
        return Aggregation.LAST
    return Aggregation.AVERAGE
