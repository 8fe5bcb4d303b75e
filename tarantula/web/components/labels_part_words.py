"""The words of sources, to be translated."""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.streams.kinds import Aggregation, Kind
from tarantula.web.i18n import mark

VALUE_KINDS: Mapping[Kind, str] = {
    Kind.INTEGER: mark("whole number"),
    Kind.DECIMAL: mark("number"),
    Kind.PERCENTAGE: mark("percentage"),
    Kind.MONEY: mark("money"),
    Kind.QUANTITY: mark("quantity"),
    Kind.MOMENT: mark("date or time"),
    Kind.DURATION: mark("duration"),
    Kind.URL: mark("address"),
    Kind.TEXT: mark("text"),
}
AGGREGATIONS: Mapping[Aggregation, str] = {
    Aggregation.AVERAGE: mark("average"),
    Aggregation.SUM: mark("sum"),
    Aggregation.MINIMUM: mark("smallest"),
    Aggregation.MAXIMUM: mark("largest"),
    Aggregation.FIRST: mark("first"),
    Aggregation.LAST: mark("last"),
    Aggregation.MODE: mark("most frequent"),
    Aggregation.COUNT: mark("count"),
}
