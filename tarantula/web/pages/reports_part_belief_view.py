"""How fresh a refresh item is believed to be, and how that belief did."""

from __future__ import annotations

from nicegui import ui

from tarantula.freshness.report import Calibration
from tarantula.freshness.report_part_standing import FreshnessReport
from tarantula.web.components.elements_part_style import subheading, text_element
from tarantula.web.components.tables import TableColumn, data_table
from tarantula.web.format_part_figures import format_moment, format_number, format_share
from tarantula.web.i18n import _


def freshness_section(standing: FreshnessReport) -> None:
    """Show what is believed of an item."""
    subheading(_("Freshness"))
    fresh, found = standing.freshness, standing.calibration
    if fresh is not None:
        share, error = format_share(100 * fresh.share), format_share(100 * fresh.error)
        said = _("{share} ± {error} of the pages are believed to be as on their servers.", share=share, error=error)
        ui.label(f"{format_moment(fresh.at)}: {said}")
    with ui.element("dl").classes("grid grid-cols-2 sm:grid-cols-3 md:grid-cols-4 gap-2 w-full"):
        for label, value in _figures(found):
            with ui.element("div").classes("border border-slate-300 rounded p-2"):
                text_element("dt", label, "text-sm text-slate-600")
                text_element("dd", value, "text-xl font-bold m-0")
    if found.classes:
        _classes(found)


def _figures(found: Calibration) -> list[tuple[str, str]]:
    figures = [
        (_("Visits planned"), format_number(found.planned)),
        (_("Visits made"), format_number(found.made)),
        (_("Changes foretold"), f"{format_number(found.foretold)} ± {format_number(found.error)}"),
        (_("Changes found"), format_number(found.found)),
    ]
    if found.brier is not None and found.brier_of_mean is not None:
        figures.append((_("Brier score"), format_number(found.brier)))
        figures.append((_("Brier score of one chance for all"), format_number(found.brier_of_mean)))
    return figures


def _classes(found: Calibration) -> None:
    columns = [
        TableColumn("chance", _("Chance of a change")),
        TableColumn("visits", _("Visits"), number=True),
        TableColumn("foretold", _("Foretold"), number=True),
        TableColumn("found", _("Found"), number=True),
        TableColumn("error", _("Error"), number=True),
    ]
    rows = [
        {
            "chance": f"{format_share(100 * row.at_least)} – {format_share(100 * row.below)}",
            "visits": row.visits,
            "foretold": format_share(100 * row.foretold),
            "found": format_share(100 * row.found),
            "error": format_share(100 * row.error),
        }
        for row in found.classes
    ]
    data_table(columns, rows, _("Chance of a change"), key="chance", search=False)
