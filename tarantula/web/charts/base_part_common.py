"""What all charts of views have."""

from __future__ import annotations

from typing import Any

from tarantula.streams.views.cells import ViewColumn
from tarantula.web.charts.base_part_charts import COLOURS, TOOLTIP
from tarantula.web.i18n import language

INTL_LOCALES = {"en": "en-GB", "pt": "pt-PT"}
# The only code in the options: the name of the language is ours.
NUMBER_FORMATTER = (
    "(value) => [value].flat().map((one) => typeof one === 'number' "
    "? new Intl.NumberFormat('{locale}', {{maximumSignificantDigits: 10}}).format(one) : one ?? '–').join(' · ')"
)


def chart_options(**options: Any) -> dict[str, Any]:
    """Return options with what all charts have."""
    return {
        "color": COLOURS,
        "animation": False,
        "textStyle": {"color": "#0f172a"},
        **options,
        "tooltip": {**TOOLTIP, ":valueFormatter": number_formatter(), **options.get("tooltip", {})},
    }


def value_axis(**options: Any) -> dict[str, Any]:
    """Return an axis of numbers, which shows where they are rather than zero."""
    label = {":formatter": number_formatter(), "hideOverlap": True}
    # Its title begins where the scale is: in the middle of it, a long one would be cut off.
    return {"type": "value", "scale": True, "axisLabel": label, "nameTextStyle": {"align": "left"}, **options}


def number_formatter() -> str:
    """Return the code that writes numbers as the reader's language does."""
    return NUMBER_FORMATTER.format(locale=INTL_LOCALES[language()])


def column_label(column: ViewColumn) -> str:
    """Return what a column is called, with its unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title
