"""What a view shows, taken from what was read: only of sources that whoever looks may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.models import Series, Source, SourceState
from tarantula.streams import history, registry
from tarantula.streams.kinds import Kind
from tarantula.streams.retention import Grain
from tarantula.streams.source import SourceConfig, SourceField
from tarantula.streams.views.cells import Cell, Column, Record, Track, written
from tarantula.streams.views.choosing import chosen, chosen_points
from tarantula.streams.views.expression import parsed
from tarantula.streams.views.fitting import IN_TIME, is_drawn, why_not
from tarantula.streams.views.past import past_of, window_of
from tarantula.streams.views.sight import Seen, Sight
from tarantula.streams.views.summary import Summary
from tarantula.streams.views.view import Function, Part, ViewConfig, ViewKind
from tarantula.streams.views.working import Worked, with_formulas, worked_tracks

MOST_POINTS = 400
"""Of one track, on the screen."""
MOST_COLUMNS = 12
MOST_TRACKS = 40
MOST_RECORDS = 500


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of one column, as it is kept."""

    column: Column
    field: SourceField
    row: str
    series: int


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
    lines = _lines(session, view, found, configs, own)
    records, tracks, grain = list[Record](), list[Track](), ""
    complaint = why_not(view, columns)
    if not complaint and view.kind in IN_TIME:
        tracks, grain = _tracks(session, view, lines, worked, (begin, end), most, margin)
    if view.events and view.kind == ViewKind.TABLE:
        records = _happened(session, lines, begin, end)
        records = with_formulas(records, worked, {})
    else:
        records = _now(session, view, lines, worked, begin, end)
    return Sight(
        view,
        begin,
        end,
        [_seen(source, state, configs[name]) for name, (source, state) in found.items()],
        len(view.sources) - len(found),
        columns,
        chosen(records, view)[:MOST_RECORDS],
        tracks,
        grain,
        complaint,
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


def _lines(
    session: Session,
    view: ViewConfig,
    found: Mapping[str, tuple[Source, SourceState]],
    configs: Mapping[str, SourceConfig],
    columns: Mapping[int, Column],
) -> list[_Line]:
    ids = {source.id: name for name, (source, _state) in found.items()}
    kept = dict[tuple[str, str], list[tuple[str, int]]]()
    for series in session.scalars(select(Series).where(Series.source_id.in_(ids)).order_by(Series.id)):
        kept.setdefault((ids[series.source_id], series.field), []).append((series.row, series.id))
    return [
        _Line(column, configs[view.parts[place].source].field(view.parts[place].field), row, series)
        for place, column in columns.items()
        for row, series in kept.get((view.parts[place].source, view.parts[place].field), ())
        if view.parts[place].row is None or row == view.parts[place].row
    ]


def _tracks(
    session: Session,
    view: ViewConfig,
    lines: Iterable[_Line],
    worked: Worked,
    window: tuple[int, int],
    most: int,
    margin: float,
) -> tuple[list[Track], str]:
    drawn = [line for line in lines if is_drawn(line.column)][:MOST_TRACKS]
    begin, end = window
    around = int((end - begin) * margin)
    earliest = max(begin - around, 0)
    pasts = [past_of(session, line.series, line.field, earliest, end + around, most) for line in drawn]
    own = [Track(line.column, line.row, past.points) for line, past in zip(drawn, pasts, strict=True)]
    wanted = {letter for _column, expression in worked for letter in expression.windowed}
    windows = {
        (line.column.letter, line.row): window_of(session, line.series, begin, end)
        for line in drawn
        if line.column.letter in wanted
    }
    tracks = chosen_points([*own, *worked_tracks(own, worked, windows)], view)
    return tracks, max((past.grain for past in pasts), default=Grain.EVENT).name.lower()


def _now(
    session: Session, view: ViewConfig, lines: Sequence[_Line], worked: Worked, begin: int, end: int
) -> list[Record]:
    """Return the rows as they are, or what a function makes of their window."""
    rows = dict[str, dict[str, Cell]]()
    latest = history.last_values(session, [line.series for line in lines])
    wanted = {letter for _column, expression in worked for letter in expression.windowed}
    windows = dict[tuple[str, str], Summary]()
    for line in lines:
        letter, event = line.column.letter, latest.get(line.series)
        if event is None:
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


def _happened(session: Session, lines: Iterable[_Line], begin: int, end: int) -> list[Record]:
    """Return what was read in a window, the newest first: values of one row at one moment together."""
    happened = dict[tuple[int, str], dict[str, Cell]]()
    for line in lines:
        for event in history.events(session, line.series, begin, end, limit=MOST_RECORDS):
            cells = happened.setdefault((event.at, line.row), {})
            cells[line.column.letter] = Cell(event.value, event.number, event.at)
    newest = sorted(happened.items(), key=lambda one: (-one[0][0], one[0][1]))
    return [Record(row, cells, at) for (at, row), cells in newest]
