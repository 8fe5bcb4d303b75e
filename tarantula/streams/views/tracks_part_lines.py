"""What is kept of the parts of a view: a line for each row of each of them, in the order of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.views.cells import ViewColumn
from tarantula.streams.views.config import ViewConfig, ViewPart
from tarantula.tables.publications import Series, Source, SourceState


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """One row of one column, as it is kept."""

    column: ViewColumn
    field: SourceField
    row: str
    series: int
    is_gone: bool
    """Whether the row was not there any more when its source was read last: it has a past, and no present."""


def load_lines(
    session: Session,
    view: ViewConfig,
    found: Mapping[str, tuple[Source, SourceState]],
    configs: Mapping[str, SourceConfig],
    columns: Mapping[int, ViewColumn],
) -> list[SeriesLine]:
    """Return the lines of a view; *columns* are those of its parts, by their place."""
    ids = {source.id: name for name, (source, _state) in found.items()}
    kept = dict[tuple[str, str], list[tuple[str, int]]]()
    for series in session.scalars(select(Series).where(Series.source_id.in_(ids)).order_by(Series.id)):
        kept.setdefault((ids[series.source_id], series.field), []).append((series.row, series.id))
    places = {name: _places(state) for name, (_source, state) in found.items()}
    lines = list[SeriesLine]()
    for place, column in columns.items():
        part = view.parts[place]
        config, there = configs[part.source], places[part.source]
        field, leaves = config.field(part.field), _drops_missing_rows(part, config, there)
        rows = [one for one in kept.get((part.source, part.field), ()) if part.row in (None, one[0])]
        # Those that are there, as they stand there; others, as they were met.
        rows.sort(key=lambda one: there.get(one[0], len(there)))
        lines += [SeriesLine(column, field, row, number, leaves and row not in there) for row, number in rows]
    return lines


def _places(state: SourceState) -> dict[str, int]:
    """Return where rows stood when a source was read last."""
    return {row: place for place, row in enumerate(state.memory.get("rows", ()))}


def _drops_missing_rows(part: ViewPart, config: SourceConfig, there: Mapping[str, int]) -> bool:
    """Whether a row that is not there any more is of no interest: nobody asked for it by its name."""
    return bool(there) and part.row is None and not config.options.get("only")
