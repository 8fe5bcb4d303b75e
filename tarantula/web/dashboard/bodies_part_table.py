"""The same as a table: for whoever cannot see a chart, or wants the figures."""

from __future__ import annotations

from tarantula.streams.views.cells import ViewColumn, ViewTrack
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.components.elements import small_table
from tarantula.web.dashboard.bodies import TableBody
from tarantula.web.format import NO_VALUE, format_cell_number, format_timestamp
from tarantula.web.i18n import _

MAX_POINTS = 50


def data_as_table(sight: ViewProjection) -> None:
    """Show what a chart has in figures: rows, or the window summed up and its latest values."""
    if not sight.tracks:
        TableBody().show(sight)
        return
    headings = [_("Values"), _("Number"), _("First"), _("Last"), _("Smallest"), _("Largest"), _("Mean")]
    small_table(_("The window, summed up"), headings, [_summed(track, sight) for track in sight.tracks])
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
    rows = [
        [format_timestamp(at), track.title, format_cell_number(value, track.column)]
        for at, track, value in latest[:MAX_POINTS]
    ]
    small_table(_("The latest values"), [_("When"), _("Values"), _("Value")], rows)


def _summed(track: ViewTrack, sight: ViewProjection) -> list[str]:
    within = ViewTrack(track.column, track.row, [one for one in track.points if sight.begin <= one.at < sight.end])
    found = within.summary
    numbers = (found.first, found.last, found.minimum, found.maximum, found.mean)
    return [track.title, str(found.count), *(_number(number, track.column) for number in numbers)]


def _number(number: float | None, column: ViewColumn) -> str:
    return NO_VALUE if number is None else format_cell_number(number, column)
