"""Tables of up to a few thousand rows: sorting, filtering, one card for each row on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nicegui import ui

from tarantula.web.i18n import _

ROWS_PER_PAGE = 25

# Vue escapes {{ }}; addresses are built here from quoted names.
BODY_SLOT = """
<q-tr :props="props">
  <q-td v-for="column in props.cols" :key="column.name" :props="props" :data-label="column.label">
    <span>
      <a v-if="props.row[column.name + '_to']" :href="props.row[column.name + '_to']">{{ column.value }}</a>
      <template v-else>{{ column.value }}</template>
      <q-btn v-for="button in props.row[column.name + '_buttons'] || []" :key="button.event" flat dense no-caps
        color="blue-10" :icon="button.icon" :label="button.label" :aria-label="button.says"
        @click="() => $parent.$emit(button.event, props.row)" />
    </span>
  </q-td>
</q-tr>
"""


class TableColumn(NamedTuple):
    """A column: the row key of its values, and its heading."""

    name: str
    label: str
    number: bool = False
    shown: str | None = None
    """Row key of the displayed value, if it differs from the sort key."""


def data_table(
    columns: Sequence[TableColumn], rows: Sequence[dict[str, Any]], name: str, *, key: str, search: bool = True
) -> ui.table:
    """Show rows; ``<column>_to`` turns a value into a link, ``<column>_buttons`` adds buttons to it."""
    filter_field = None
    if search and len(rows) > ROWS_PER_PAGE // 2:
        filter_field = ui.input(_("Search")).props('type=search dense outlined clearable debounce="200"')
    pages = {"rowsPerPage": ROWS_PER_PAGE} if len(rows) > ROWS_PER_PAGE else None
    table = ui.table(columns=[_column(one) for one in columns], rows=list(rows), row_key=key, pagination=pages)
    table.classes("listing w-full").props("flat bordered wrap-cells")
    table.props["table-header-class"] = "bg-slate-100"
    table.props["aria-label"] = name
    table.props["no-data-label"] = _("No rows.")
    table.props["no-results-label"] = _("No matches.")
    table.props["rows-per-page-label"] = _("Rows per page")
    table.props["rows-per-page-options"] = [ROWS_PER_PAGE, 4 * ROWS_PER_PAGE, 0]
    table.props[":pagination-label"] = "(first, last, all) => `${first}–${last} / ${all}`"
    table.add_slot("body", BODY_SLOT)
    if filter_field is not None:
        table.bind_filter_from(filter_field, "value", backward=lambda words: words or "")
    return table


def _column(column: TableColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "label": column.label,
        "field": column.shown or column.name,
        "sortable": True,
        "align": "right" if column.number else "left",
        **({":sort": f"(a, b, one, other) => {_ORDER.format(column.name)}"} if column.shown else {}),
    }


_ORDER = "one['{0}'] === other['{0}'] ? 0 : (one['{0}'] ?? '') < (other['{0}'] ?? '') ? -1 : 1"
