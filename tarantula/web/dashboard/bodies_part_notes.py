"""What has to be said beside a view: what is wrong, what is not there, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tarantula.streams.views.config import ViewKind
from tarantula.streams.views.config_part_fitting import TIME_KINDS, coordinate_columns, has_named_coordinates
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts import categories, categories_part_gauges, map_part_places, network
from tarantula.web.dashboard.bodies import MAX_ROWS
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import translate_sentence

MAX_RECORDS_BY_KIND: Mapping[ViewKind, int] = {
    ViewKind.TEXT: MAX_ROWS,
    ViewKind.ONE_LINE: MAX_ROWS,
    ViewKind.TABLE: MAX_ROWS,
    ViewKind.BAR: categories.MAX_SLICES,
    ViewKind.NETWORK: network.MAX_RECORDS,
    ViewKind.MAP: map_part_places.MAX_PLACES,
}
MAX_SLICES_BY_KIND: Mapping[ViewKind, int] = {
    ViewKind.GAUGE: categories_part_gauges.MAX_GAUGES,
    ViewKind.PIE: categories.MAX_SLICES,
    ViewKind.TREEMAP: categories.MAX_SLICES,
}


def warning_text(sight: ViewProjection) -> str:
    """Say what is wrong with the sources of a view, or with how it is to be shown."""
    said = [seen.sentence for seen in sight.sources if seen.sentence]
    words = [translate_sentence(sentence) for sentence in dict.fromkeys(said)]
    if sight.complaint:
        words.append(translate_sentence(sight.complaint))
    if sight.hidden:
        words.append(_("A source of this view is no longer there, or not for you."))
    return "\n".join(words)


def note_text(sight: ViewProjection) -> str:
    """Say why nothing is seen, or not all of it."""
    return "" if sight.complaint else " ".join(_notes(sight))


def _notes(sight: ViewProjection) -> Iterator[str]:
    if sight.view.kind in TIME_KINDS:
        within = (sight.begin <= point.at < sight.end for track in sight.tracks for point in track.points)
        if not any(within):
            yield _("Nothing was read in this window.")
    elif not sight.records:
        yield _nothing(sight)
    shown, there = _counted(sight)
    if shown < there:
        yield _("{shown} of {there} are shown.", shown=shown, there=there)
    unfit = len(categories.named_numbers(sight)) - len(categories.positive_numbers(sight))
    if sight.view.kind in (ViewKind.PIE, ViewKind.TREEMAP) and unfit:
        yield _("Only what is above zero has a part of the whole: {number} values have none.", number=unfit)
    if sight.view.kind == ViewKind.MAP and not has_named_coordinates(sight.columns):
        found = coordinate_columns(sight.columns)
        names = [column.title for column in found] if found else []
        yield _("No value is called latitude or longitude; taken for them: {names}.", names=", ".join(names))


def _nothing(sight: ViewProjection) -> str:
    if sight.view.conditions:
        return _("Nothing fulfils the conditions of this view.")
    return _("Nothing was read in this window.") if sight.view.events else _("Nothing was read yet.")


def _counted(sight: ViewProjection) -> tuple[int, int]:
    """Return how many are shown, and how many there are."""
    kind = sight.view.kind
    if kind in TIME_KINDS:
        return len(sight.tracks), len(sight.tracks) + sight.untracked
    if kind in MAX_SLICES_BY_KIND:
        there = len(categories.named_numbers(sight) if kind == ViewKind.GAUGE else categories.positive_numbers(sight))
        return min(there, MAX_SLICES_BY_KIND[kind]), there
    shown = min(len(sight.records), MAX_RECORDS_BY_KIND.get(kind, len(sight.records)))
    return shown, len(sight.records) + sight.unlisted
