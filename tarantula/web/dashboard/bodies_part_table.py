"""The same as a table: for whoever cannot see a chart, or wants the figures."""

from __future__ import annotations

from tarantula.streams.views.cells import Column, Track
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.components.elements import few_rows
from tarantula.web.dashboard.bodies import Table
from tarantula.web.format import NOTHING, at_shown, number_shown
from tarantula.web.i18n import _

MOST_POINTS = 50


def same_as_table(sight: Sight) -> None:
    """Show what a chart has in figures: rows, or the window summed up and its latest values."""
    if not sight.tracks:
        Table().show(sight)
        return
    headings = [_("Values"), _("Number"), _("First"), _("Last"), _("Smallest"), _("Largest"), _("Mean")]
    few_rows(_("The window, summed up"), headings, [_summed(track, sight) for track in sight.tracks])
    latest = sorted(
        (
            (point.at, track, point.value)
            for track in sight.tracks
            for point in track.points
            # What only goes on was not read.
            if point.summary.count and sight.begin <= point.at < sight.end
        ),
        key=lambda one: -one[0],
    )
    rows = [[at_shown(at), track.title, number_shown(value, track.column)] for at, track, value in latest[:MOST_POINTS]]
    few_rows(_("The latest values"), [_("When"), _("Values"), _("Value")], rows)


def _summed(track: Track, sight: Sight) -> list[str]:
    within = Track(track.column, track.row, [one for one in track.points if sight.begin <= one.at < sight.end])
    found = within.summary
    numbers = (found.first, found.last, found.minimum, found.maximum, found.mean)
    return [track.title, str(found.count), *(_number(number, track.column) for number in numbers)]


def _number(number: float | None, column: Column) -> str:
    return NOTHING if number is None else number_shown(number, column)
