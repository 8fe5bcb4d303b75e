"""Labels of value kinds, aggregations, view kinds, functions, operators and time windows."""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.views.config import DAY, HOUR, MINUTE, ViewKind, ViewOperator, WindowFunction
from tarantula.web.i18n import mark

VIEW_KIND_LABELS: Mapping[ViewKind, str] = {
    ViewKind.TEXT: mark("Text"),
    ViewKind.ONE_LINE: mark("One line"),
    ViewKind.TABLE: mark("Table"),
    ViewKind.LINE: mark("Line chart"),
    ViewKind.AREA: mark("Area chart"),
    ViewKind.BAR: mark("Bar chart"),
    ViewKind.PIE: mark("Pie chart"),
    ViewKind.GAUGE: mark("Gauge"),
    ViewKind.SCATTER: mark("Scatter plot"),
    ViewKind.TREEMAP: mark("Treemap"),
    ViewKind.TAG_CLOUD: mark("Tag cloud"),
    ViewKind.MAP: mark("Map"),
    ViewKind.NETWORK: mark("Network"),
}
VIEW_KIND_ICONS: Mapping[ViewKind, str] = {
    ViewKind.TEXT: "notes",
    ViewKind.ONE_LINE: "short_text",
    ViewKind.TABLE: "table_rows",
    ViewKind.LINE: "show_chart",
    ViewKind.AREA: "area_chart",
    ViewKind.BAR: "bar_chart",
    ViewKind.PIE: "pie_chart",
    ViewKind.GAUGE: "speed",
    ViewKind.SCATTER: "scatter_plot",
    ViewKind.TREEMAP: "dashboard",
    ViewKind.TAG_CLOUD: "cloud",
    ViewKind.MAP: "place",
    ViewKind.NETWORK: "hub",
}
FUNCTION_LABELS: Mapping[WindowFunction, str] = {
    WindowFunction.LAST: mark("the last value"),
    WindowFunction.FIRST: mark("the first value of the window"),
    WindowFunction.COUNT: mark("the number of values"),
    WindowFunction.SUM: mark("their sum"),
    WindowFunction.MEAN: mark("their mean"),
    WindowFunction.MINIMUM: mark("the smallest"),
    WindowFunction.MAXIMUM: mark("the largest"),
    WindowFunction.CHANGE: mark("the change from first to last"),
}
OPERATOR_LABELS: Mapping[ViewOperator, str] = {
    **{operator: operator.value for operator in ViewOperator},
    ViewOperator.CONTAINS: mark("contains"),
    ViewOperator.CONTAINS_NOT: mark("does not contain"),
}
WINDOW_LABELS: Mapping[float, str] = {
    5 * MINUTE: mark("5 minutes"),
    HOUR: mark("1 hour"),
    6 * HOUR: mark("6 hours"),
    DAY: mark("1 day"),
    7 * DAY: mark("1 week"),
    30 * DAY: mark("30 days"),
    365 * DAY: mark("1 year"),
    3650 * DAY: mark("10 years"),
}


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
