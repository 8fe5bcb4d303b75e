"""What a view shows, taken from what was read: only of sources that whoever looks may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.streams import history
from tarantula.streams.kinds import Kind
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.sources.config_part_state import Status
from tarantula.streams.views.cells import Cell, Column, Record, written
from tarantula.streams.views.cells_part_summary import Summary
from tarantula.streams.views.config import Function, Part, ViewConfig, ViewKind
from tarantula.streams.views.config_part_fitting import IN_TIME, why_not
from tarantula.streams.views.expression import parsed
from tarantula.streams.views.filters import chosen
from tarantula.streams.views.projection_part_sight import Seen, Sight
from tarantula.streams.views.tracks import Drawn, Stretch, drawn_in
from tarantula.streams.views.tracks_part_lines import Line, lines_of
from tarantula.streams.views.tracks_part_past import window_of
from tarantula.streams.views.tracks_part_working import Worked, with_formulas
from tarantula.tables.publications import Series, Source, SourceState

MOST_POINTS = 400
"""Of one track, on the screen."""
MOST_COLUMNS = 12
MOST_RECORDS = 500


def look(
    session: Session,
    view: ViewConfig,
    person: str | None,
    begin: int,
    end: int,
    most: int = MOST_POINTS,
    margin: float = 0.0,
) -> Sight:
    """Return what somebody sees of a view between two moments; of tracks also a *margin* of windows on both sides."""
    found = _sources(session, view.sources, person)
    configs = {name: registry.config_of(source) for name, (source, _state) in found.items()}
    own = _columns(view, configs)
    worked = _worked(view)
    columns = [*own.values(), *(column for column, _expression in worked)]
    lines = lines_of(session, view, found, configs, own)
    complaint, drawn = why_not(view, columns), Drawn()
    if not complaint and view.kind in IN_TIME:
        until = {name: state.read_at for name, (_source, state) in found.items() if state.status == Status.READ}
        drawn = drawn_in(session, view, lines, worked, Stretch(begin, end, margin, most), until)
    if view.events and view.kind == ViewKind.TABLE:
        records = _happened(session, lines, begin, end)
        records = with_formulas(records, worked, {})
    else:
        records = _now(session, view, lines, worked, begin, end)
    wanted = chosen(records, view)
    return Sight(
        view,
        begin,
        end,
        [_seen(source, state, configs[name]) for name, (source, state) in found.items()],
        len(view.sources) - len(found),
        columns,
        wanted[:MOST_RECORDS],
        drawn.tracks,
        drawn.grain,
        complaint,
        drawn.left_out,
        max(len(wanted) - MOST_RECORDS, 0),
    )


def rows_of(session: Session, source_id: int) -> list[str]:
    """Return the names of the rows that a source has had."""
    rows = select(Series.row).where(Series.source_id == source_id).distinct().order_by(Series.row)
    return list(session.scalars(rows))


def _sources(session: Session, names: Sequence[str], person: str | None) -> dict[str, tuple[Source, SourceState]]:
    chosen_ones = (
        select(Source, SourceState)
        .join(SourceState, SourceState.source_id == Source.id)
        .where(Source.name.in_(names), registry.seen_by(person))
    )
    rows = {source.name: (source, state) for source, state in session.execute(chosen_ones)}
    return {name: rows[name] for name in names if name in rows}


def _seen(source: Source, state: SourceState, config: SourceConfig) -> Seen:
    title = config.title or source.name
    return Seen(source.id, source.name, title, state.status, state.sentence, state.read_at, state.stamp)


def _columns(view: ViewConfig, configs: Mapping[str, SourceConfig]) -> dict[int, Column]:
    """Return the columns of the parts by their place; a part whose source or field is gone has none."""
    several = len(view.sources) > 1
    found = dict[int, Column]()
    for place, part in enumerate(view.parts):
        field = _field(configs, part)
        if field is not None:
            config = configs[part.source]
            title = field.title or field.key
            named = f"{config.title or config.name}: {title}" if several else title
            kind, unit = _kind(view, field)
            found[place] = Column(view.letters[place], named, kind, unit, part.source)
    return found


def _kind(view: ViewConfig, field: SourceField) -> tuple[Kind, str]:
    """Return what is shown of a field: a number of values is none of its own, and a mean is not whole."""
    kind = field.kind or Kind.TEXT
    if view.kind in IN_TIME or view.function in (Function.LAST, Function.FIRST):
        return kind, field.unit
    if view.function == Function.COUNT:
        return Kind.INTEGER, ""
    return (Kind.DECIMAL if kind == Kind.INTEGER else kind), field.unit


def _field(configs: Mapping[str, SourceConfig], part: Part) -> SourceField | None:
    config = configs.get(part.source)
    return next((field for field in config.fields if field.key == part.field), None) if config else None


def _worked(view: ViewConfig) -> Worked:
    letters = view.letters[len(view.parts) :]
    return [
        (Column(letter, formula.title or formula.text, Kind.DECIMAL), parsed(formula.text))
        for letter, formula in zip(letters, view.formulas, strict=True)
    ]


def _now(
    session: Session, view: ViewConfig, lines: Sequence[Line], worked: Worked, begin: int, end: int
) -> list[Record]:
    """Return the rows as they are, or what a function makes of their window."""
    rows = dict[str, dict[str, Cell]]()
    latest = history.last_values(session, [line.series for line in lines])
    wanted = {letter for _column, expression in worked for letter in expression.windowed}
    windows = dict[tuple[str, str], Summary]()
    for line in lines:
        letter, event = line.column.letter, latest.get(line.series)
        if event is None or line.is_gone:
            continue
        cell: Cell | None = Cell(event.value, event.number, event.at)
        if view.function != Function.LAST or letter in wanted:
            windows[letter, line.row] = window_of(session, line.series, begin, end)
            if view.function != Function.LAST:
                cell = _summed(windows[letter, line.row], view.function, event.at)
        if cell is not None:
            rows.setdefault(line.row, {})[letter] = cell
    records = [Record(row, cells) for row, cells in rows.items()]
    return with_formulas(records, worked, windows)


def _summed(summary: Summary, function: Function, at: int) -> Cell | None:
    values: Mapping[Function, float | None] = {
        Function.FIRST: summary.first,
        Function.COUNT: summary.count,
        Function.SUM: summary.sum,
        Function.MEAN: summary.mean,
        Function.MINIMUM: summary.minimum,
        Function.MAXIMUM: summary.maximum,
        Function.CHANGE: summary.change,
    }
    value = values[function]
    return None if value is None else Cell(written(value), value, at)


def _happened(session: Session, lines: Iterable[Line], begin: int, end: int) -> list[Record]:
    """Return what was read in a window, the newest first: values of one row at one moment together."""
    happened = dict[tuple[int, str], dict[str, Cell]]()
    for line in lines:
        for event in history.events(session, line.series, begin, end, limit=MOST_RECORDS):
            cells = happened.setdefault((event.at, line.row), {})
            cells[line.column.letter] = Cell(event.value, event.number, event.at)
    newest = sorted(happened.items(), key=lambda one: (-one[0][0], one[0][1]))
    return [Record(row, cells, at) for (at, row), cells in newest]
