"""Interface elements that most pages use, tables among them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from nicegui import app, ui
from nicegui.elements.mixins.text_element import TextElement

from tarantula import __version__
from tarantula.core.urls import is_web
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


ui.add_head_html(f'<link rel="stylesheet" href="/static/pages.css?{__version__}">', shared=True)
# The loading bar has no accessible name.
app.config.quasar_config["loadingBar"]["skipHijack"] = True


def text_element(tag: str, text: str, classes: str = "") -> TextElement:
    """Show a text in an HTML element, such as a heading, legend or paragraph."""
    return TextElement(tag=tag, text=text).classes(classes)


def subheading(text: str) -> TextElement:
    """Show the heading of a section."""
    return text_element("h2", text, "text-lg font-bold mt-4 mb-2")


def icon_button(icon: str, label: str) -> ui.button:
    """Show an icon button with an accessible label and a tooltip."""
    button = ui.button(icon=icon).props("flat dense round color=grey-10")
    button.props["aria-label"] = label
    return button.tooltip(label)


@contextmanager
def section(title: str) -> Iterator[None]:
    """Show a section with a heading."""
    with ui.element("section").classes("w-full mb-6"):
        subheading(title)
        yield


class AddressText(str):
    """A text that is an address and shown as a link."""


def small_table(
    label: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[int] = (),
    high: str = "",
) -> None:
    """Show a small table, which scrolls if it is wide or high. Values may come from other sites.

    Columns in *numbers* are right-aligned.
    """
    region = ui.element("div").classes(f"w-full overflow-auto {high}").props('tabindex="0" role="region"')
    region.props["aria-label"] = label
    with region, ui.element("table").classes("few-rows w-full text-left text-sm"):
        with ui.element("thead"), ui.element("tr"):
            for index, heading in enumerate(headings):
                text_element("th", heading, _aligned(index in numbers)).props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for index, value in enumerate(row):
                        _cell(value, index in numbers)


def _cell(value: str, is_number: bool) -> None:
    if not isinstance(value, AddressText):
        text_element("td", value, _aligned(is_number))
        return
    with ui.element("td").classes(_aligned(False)):
        external_link(value)


def external_link(address: str) -> None:
    """Show an address from another site, as a link without referrer if it is a web address."""
    if is_web(address):
        ui.link(address, address, new_tab=True).classes("break-all").props('rel="noopener noreferrer nofollow"')
    else:
        text_element("span", address, "break-all")


def _aligned(is_number: bool) -> str:
    return "pr-4 align-top text-right tabular-nums whitespace-nowrap" if is_number else "pr-4 align-top break-words"


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
