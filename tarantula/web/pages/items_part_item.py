"""One item, while it happens. The browser is told what is seen of it; `static/live.js` shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nicegui import ui

from tarantula.core.states import ItemState
from tarantula.services import items
from tarantula.services.context import ServiceContext
from tarantula.services.items import ItemDetail
from tarantula.web.charts.base_part_charts import COLOURS, TOOLTIP
from tarantula.web.components.background import show_when_loaded
from tarantula.web.components.elements_part_style import subheading, text_element
from tarantula.web.components.items_part_common import item_navigation, item_path, state_choices, state_label
from tarantula.web.format_part_figures import BABEL_LOCALES
from tarantula.web.i18n import _, language, mark
from tarantula.web.layout import heading, page
from tarantula.web.live import LIVE_SCRIPT
from tarantula.web.pages.items_part_controls import item_controls

LIVE_FIGURES = (
    ("state", mark("State")),
    ("done", mark("Done")),
    ("waiting", mark("Waiting")),
    ("under_way", mark("Under way")),
    ("refused", mark("Refused")),
    ("bytes", mark("Size")),
    ("per_second", mark("Documents a second")),
    ("left", mark("Time left")),
    ("deadline", mark("Until")),
    ("collectors", mark("Collectors")),
)
"""What is shown in large letters: what the script calls it, and what people do."""


@page("/items/{urn}", mark("Item"))
def item_page(desk: ServiceContext, urn: str) -> None:
    """Show how far an item is, as it changes."""
    heading(urn)
    item_navigation(urn, "")
    ui.add_body_html(f'<script type="module" src="{LIVE_SCRIPT}"></script>')
    show_when_loaded(lambda: items.get_item(desk, urn), lambda found: _show(desk, found))


def _show(desk: ServiceContext, found: ItemDetail) -> None:
    text_element("p", f"{found.base_url} {found.description}", "break-all")
    with ui.element("section").classes("w-full") as live:
        live.props["id"] = "live"
        live.props["data-stream"] = f"/api{item_path(found.urn, '/live')}"
        live.props["data-words"] = json.dumps(_words())
        live.props["data-documents"] = item_path(found.urn, "/documents")
        _figures()
        item_controls(desk, found)
        live.props["data-chart"] = str(_chart().id)
        _table("states", _("States of the documents"), (_("State"), _("Documents")))
        _table(
            "servers",
            _("Busiest servers"),
            (_("Server"), _("Done"), _("Waiting"), _("Pause"), _("Back-off"), _("Left alone for")),
        )
        _table("last", _("Last documents"), (_("State"), _("URL"), _("Type"), _("Size")))
        subheading(_("Log"))
        log = text_element("pre", "", "text-xs overflow-x-auto p-2 bg-slate-100 max-h-80")
        log.props["data-live"] = "log"
        log.props["tabindex"] = "0"
        log.props["role"] = "region"
        log.props["aria-label"] = _("Log")


def _words() -> dict[str, object]:
    """Return what the script says in the reader's language: what it is sent is the same for all."""
    return {
        "locale": BABEL_LOCALES[language()].replace("_", "-"),
        "items": {str(state): _(state) for state in ItemState},
        "states": {state: state_label(state) for state in state_choices()},
        "stopping": _("is being stopped"),
        "away": _("The server does not answer; asking again …"),
    }


def _figures() -> None:
    text_element("p", "", "text-red-900").props('data-live="away" role="alert"')
    with ui.element("dl").classes("w-full grid grid-cols-2 sm:grid-cols-5 gap-2"):
        for name, label in LIVE_FIGURES:
            with ui.element("div").classes("border rounded p-2"):
                text_element("dt", _(label), "text-sm text-slate-700")
                value = text_element("dd", "–", "text-xl font-bold break-words")
                value.props["data-live"] = name
                if name == "state":
                    value.props["aria-live"] = "polite"
    text_element("p", "").props('data-live="reason"')


def _chart() -> ui.echart:
    subheading(_("Documents done with, second by second"))
    chart = ui.echart(
        {
            "color": COLOURS,
            "animation": False,
            "grid": {"left": 8, "right": 16, "top": 16, "bottom": 8, "containLabel": True},
            "tooltip": {**TOOLTIP, "trigger": "axis"},
            "xAxis": {"type": "category", "data": []},
            "yAxis": {"type": "value", "minInterval": 1},
            "series": [{"type": "bar", "name": _("Documents"), "data": [], "barCategoryGap": "10%"}],
        }
    ).classes("w-full h-56")
    chart.props["role"] = "img"
    chart.props["aria-label"] = _("Chart: documents done with in each of the last two minutes' seconds.")
    return chart


def _table(name: str, title: str, headings: Sequence[str]) -> None:
    subheading(title)
    with ui.element("div").classes("w-full overflow-x-auto") as around:
        around.props["tabindex"] = "0"
        around.props["role"] = "region"
        around.props["aria-label"] = title
        with ui.element("table").classes("live-table w-full text-left"):
            with ui.element("thead"), ui.element("tr"):
                for text in headings:
                    text_element("th", text, "pr-4").props('scope="col"')
            ui.element("tbody").props["data-rows"] = name
