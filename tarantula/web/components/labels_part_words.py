"""The words of sources, to be translated."""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.web.i18n import mark

VALUE_KIND_LABELS: Mapping[ValueKind, str] = {
    ValueKind.INTEGER: mark("whole number"),
    ValueKind.DECIMAL: mark("number"),
    ValueKind.PERCENTAGE: mark("percentage"),
    ValueKind.MONEY: mark("money"),
    ValueKind.QUANTITY: mark("quantity"),
    ValueKind.MOMENT: mark("date or time"),
    ValueKind.DURATION: mark("duration"),
    ValueKind.URL: mark("address"),
    ValueKind.TEXT: mark("text"),
}
AGGREGATION_LABELS: Mapping[Aggregation, str] = {
    Aggregation.AVERAGE: mark("average"),
    Aggregation.SUM: mark("sum"),
    Aggregation.MINIMUM: mark("smallest"),
    Aggregation.MAXIMUM: mark("largest"),
    Aggregation.FIRST: mark("first"),
    Aggregation.LAST: mark("last"),
    Aggregation.MODE: mark("most frequent"),
    Aggregation.COUNT: mark("count"),
}
