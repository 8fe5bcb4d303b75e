"""A figure of a report: a chart, the same as a table, and both to take away."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from tarantula.web.charts.base_part_charts import chart_height
from tarantula.web.components.elements_part_style import subheading
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.i18n import _

# The picture is made in the browser, of what somebody sees there.
SAVE_SCRIPT = """
const link = document.createElement('a');
link.href = getElement({id}).chart.getDataURL({{type: 'png', pixelRatio: 2, backgroundColor: '#fff'}});
link.download = {name};
link.click();
"""


def report_figure(
    title: str,
    options: dict[str, Any],
    columns: Sequence[TableColumn],
    rows: Sequence[dict[str, Any]],
    csv: Callable[[], str],
    file: str,
) -> ui.echart | None:
    """Show a figure; return its chart, if there is anything to draw."""
    subheading(title)
    if not rows:
        ui.label(_("There is nothing to count."))
        return None
    chart = ui.echart(options).classes("w-full").style(f"height: {chart_height(options)}")
    chart.props["role"] = "img"
    chart.props["aria-label"] = _("Chart: {title}. The table below has the same figures.", title=title)
    with ui.row():
        save = SAVE_SCRIPT.format(id=chart.id, name=json.dumps(f"{file}.png"))
        _button("CSV", title, lambda: ui.download.content(csv().encode("utf-8-sig"), f"{file}.csv", "text/csv"))
        _button("PNG", title, lambda: ui.run_javascript(save))
    with ui.expansion(_("As a table")).classes("w-full"):
        data_table(columns, rows, title, key="key")
    return chart


def _button(kind: str, title: str, do: Callable[[], Any]) -> None:
    button = ui.button(kind, icon="download", on_click=do).props("outline dense no-caps")
    button.props["aria-label"] = _("{title} as {kind}", title=title, kind=kind)
