"""How fresh a refresh item is believed to be, and how that belief did."""

from __future__ import annotations

from nicegui import ui

from tarantula.freshness.report import Calibration
from tarantula.freshness.report_part_standing import Standing
from tarantula.web.components.elements_part_style import subheading, tagged
from tarantula.web.components.tables import Column, listing
from tarantula.web.format_part_figures import moment, number, percent
from tarantula.web.i18n import _


def belief(standing: Standing) -> None:
    """Show what is believed of an item."""
    subheading(_("Freshness"))
    fresh, found = standing.freshness, standing.calibration
    if fresh is not None:
        share, error = percent(100 * fresh.share), percent(100 * fresh.error)
        said = _("{share} ± {error} of the pages are believed to be as on their servers.", share=share, error=error)
        ui.label(f"{moment(fresh.at)}: {said}")
    with ui.element("dl").classes("grid grid-cols-2 sm:grid-cols-3 md:grid-cols-4 gap-2 w-full"):
        for label, value in _figures(found):
            with ui.element("div").classes("border border-slate-300 rounded p-2"):
                tagged("dt", label, "text-sm text-slate-600")
                tagged("dd", value, "text-xl font-bold m-0")
    if found.classes:
        _classes(found)


def _figures(found: Calibration) -> list[tuple[str, str]]:
    figures = [
        (_("Visits planned"), number(found.planned)),
        (_("Visits made"), number(found.made)),
        (_("Changes foretold"), f"{number(found.foretold)} ± {number(found.error)}"),
        (_("Changes found"), number(found.found)),
    ]
    if found.brier is not None and found.brier_of_mean is not None:
        figures.append((_("Brier score"), number(found.brier)))
        figures.append((_("Brier score of one chance for all"), number(found.brier_of_mean)))
    return figures


def _classes(found: Calibration) -> None:
    columns = [
        Column("chance", _("Chance of a change")),
        Column("visits", _("Visits"), number=True),
        Column("foretold", _("Foretold"), number=True),
        Column("found", _("Found"), number=True),
        Column("error", _("Error"), number=True),
    ]
    rows = [
        {
            "chance": f"{percent(100 * row.at_least)} – {percent(100 * row.below)}",
            "visits": row.visits,
            "foretold": percent(100 * row.foretold),
            "found": percent(100 * row.found),
            "error": percent(100 * row.error),
        }
        for row in found.classes
    ]
    listing(columns, rows, _("Chance of a change"), key="chance", search=False)
