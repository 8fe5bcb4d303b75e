"""What has to be said beside a view: what is wrong, what is not there, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.config_part_fitting import IN_TIME, coordinates, is_told_by_names
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.charts import categories, categories_part_gauges, map_part_places, network
from tarantula.web.dashboard.bodies import MOST_ROWS
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import retold

MOST_RECORDS: Mapping[ViewKind, int] = {
    ViewKind.TEXT: MOST_ROWS,
    ViewKind.ONE_LINE: MOST_ROWS,
    ViewKind.TABLE: MOST_ROWS,
    ViewKind.BAR: categories.MOST,
    ViewKind.NETWORK: network.MOST,
    ViewKind.MAP: map_part_places.MOST,
}
MOST_SLICES: Mapping[ViewKind, int] = {
    ViewKind.GAUGE: categories_part_gauges.MOST,
    ViewKind.PIE: categories.MOST,
    ViewKind.TREEMAP: categories.MOST,
}


def trouble(sight: Sight) -> str:
    """Say what is wrong with the sources of a view, or with how it is to be shown."""
    said = [seen.sentence for seen in sight.sources if seen.sentence]
    words = [retold(sentence) for sentence in dict.fromkeys(said)]
    if sight.complaint:
        words.append(retold(sight.complaint))
    if sight.hidden:
        words.append(_("A source of this view is no longer there, or not for you."))
    return "\n".join(words)


def note(sight: Sight) -> str:
    """Say why nothing is seen, or not all of it."""
    return "" if sight.complaint else " ".join(_notes(sight))


def _notes(sight: Sight) -> Iterator[str]:
    if sight.view.kind in IN_TIME:
        within = (sight.begin <= point.at < sight.end for track in sight.tracks for point in track.points)
        if not any(within):
            yield _("Nothing was read in this window.")
    elif not sight.records:
        yield _nothing(sight)
    shown, there = _counted(sight)
    if shown < there:
        yield _("{shown} of {there} are shown.", shown=shown, there=there)
    unfit = len(categories.slices(sight)) - len(categories.shares(sight))
    if sight.view.kind in (ViewKind.PIE, ViewKind.TREEMAP) and unfit:
        yield _("Only what is above zero has a part of the whole: {number} values have none.", number=unfit)
    if sight.view.kind == ViewKind.MAP and not is_told_by_names(sight.columns):
        found = coordinates(sight.columns)
        names = [column.title for column in found] if found else []
        yield _("No value is called latitude or longitude; taken for them: {names}.", names=", ".join(names))


def _nothing(sight: Sight) -> str:
    if sight.view.conditions:
        return _("Nothing fulfils the conditions of this view.")
    return _("Nothing was read in this window.") if sight.view.events else _("Nothing was read yet.")


def _counted(sight: Sight) -> tuple[int, int]:
    """Return how many are shown, and how many there are."""
    kind = sight.view.kind
    if kind in IN_TIME:
        return len(sight.tracks), len(sight.tracks) + sight.untracked
    if kind in MOST_SLICES:
        there = len(categories.slices(sight) if kind == ViewKind.GAUGE else categories.shares(sight))
        return min(there, MOST_SLICES[kind]), there
    shown = min(len(sight.records), MOST_RECORDS.get(kind, len(sight.records)))
    return shown, len(sight.records) + sight.unlisted
