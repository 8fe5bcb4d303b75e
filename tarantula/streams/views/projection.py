"""Projection of a view: its columns and rows, computed from the history; and the views of a new source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Owner
from tarantula.core.errors import ConflictError
from tarantula.models import Series, Source, SourceState
from tarantula.streams import history
from tarantula.streams.adapters.base import LONGEST_ROW_NAME
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, SourceField, SourceStatus
from tarantula.streams.views.cells import ViewCell, ViewColumn, ViewRecord, ViewTrack, WindowSummary, format_result
from tarantula.streams.views.config import (
    DAY,
    HOUR,
    MINUTE,
    TIME_KINDS,
    ViewConfig,
    ViewKind,
    ViewPart,
    WindowFunction,
    misfit_reason,
    read_view,
)
from tarantula.streams.views.expression import parse_expression
from tarantula.streams.views.tracks import (
    FormulaColumns,
    SeriesLine,
    TrackSet,
    TrackWindow,
    filter_records,
    load_lines,
    load_tracks,
    summarize_window,
    with_formulas,
)

MAX_TRACK_POINTS = 400
MAX_COLUMNS = 12
MAX_RECORDS = 500


@dataclass(frozen=True, slots=True)
class ViewSource:
    """State of a source of a view."""

    id: int
    name: str
    title: str
    status: str
    sentence: str
    """Problem with reading the source; empty if there is none."""
    read_at: int | None
    """Microseconds since 1970."""
    stamp: int


@dataclass(frozen=True, slots=True)
class ViewProjection:
    """Content of a view at one moment, ready to be drawn."""

    view: ViewConfig
    begin: int
    end: int
    """Microseconds since 1970."""
    sources: list[ViewSource] = field(default_factory=list)
    hidden: int = 0
    """Number of sources that were removed or that the person may not see."""
    columns: list[ViewColumn] = field(default_factory=list)
    records: list[ViewRecord] = field(default_factory=list)
    tracks: list[ViewTrack] = field(default_factory=list)
    grain: str = ""
    """Coarsest level of the tracks."""
    complaint: str = ""
    """Why the values do not fit the kind of the view; empty if they do."""
    untracked: int = 0
    """Number of rows without a track, because there are too many."""
    unlisted: int = 0
    """Number of records that are left out, because there are too many."""

    @property
    def title(self) -> str:
        return self.view.title or " · ".join(seen.title for seen in self.sources) or ", ".join(self.view.sources)

    @property
    def naming(self) -> ViewColumn | None:
        """Text column that only repeats the row names, if there is one."""
        texts = [column for column in self.columns if column.kind == ValueKind.TEXT]
        return next((column for column in texts if self._names_rows(column.letter)), None)

    @property
    def informative(self) -> list[ViewColumn]:
        """Columns other than the one that repeats the row names."""
        naming = self.naming
        return [column for column in self.columns if column is not naming]

    def _names_rows(self, letter: str) -> bool:
        names = [(record.row, record.cells[letter].text) for record in self.records if letter in record.cells]
        return bool(names) and all(row and row == text[:LONGEST_ROW_NAME] for row, text in names)

    @property
    def stamps(self) -> dict[int, int]:
        """Stamps of the sources, by source id."""
        return {seen.id: seen.stamp for seen in self.sources}


def project_view(
    session: Session,
    view: ViewConfig,
    person: Owner | None,
    begin: int,
    end: int,
    most: int = MAX_TRACK_POINTS,
    margin: float = 0.0,
) -> ViewProjection:
    """Load the content of a view for a person (``None``: all sources) in a window.

    Tracks extend by *margin* windows on both sides.
    """
    sources = _sources(session, view.sources, person)
    configs = {name: registry.config_of(source) for name, (source, _state) in sources.items()}
    own = _columns(view, configs)
    formulas = _formula_columns(view)
    columns = [*own.values(), *(column for column, _expression in formulas)]
    lines = load_lines(session, view, sources, configs, own)
    complaint, tracks = misfit_reason(view, columns), TrackSet()
    if not complaint and view.kind in TIME_KINDS:
        until = {name: state.read_at for name, (_source, state) in sources.items() if state.status == SourceStatus.READ}
        tracks = load_tracks(session, view, lines, formulas, TrackWindow(begin, end, margin, most), until)
    if view.events and view.kind == ViewKind.TABLE:
        records = _event_records(session, lines, begin, end)
        records = with_formulas(records, formulas, {})
    else:
        records = _current_records(session, view, lines, formulas, begin, end)
    filtered = filter_records(records, view)
    return ViewProjection(
        view,
        begin,
        end,
        [_source_state(source, state, configs[name]) for name, (source, state) in sources.items()],
        len(view.sources) - len(sources),
        columns,
        filtered[:MAX_RECORDS],
        tracks.tracks,
        tracks.grain,
        complaint,
        tracks.left_out,
        max(len(filtered) - MAX_RECORDS, 0),
    )


def row_names(session: Session, source_id: int) -> list[str]:
    """Return the distinct row names in the history of a source."""
    rows = select(Series.row).where(Series.source_id == source_id).distinct().order_by(Series.row)
    return list(session.scalars(rows))


def _sources(session: Session, names: Sequence[str], person: Owner | None) -> dict[str, tuple[Source, SourceState]]:
    visible = (
        select(Source, SourceState)
        .join(SourceState, SourceState.source_id == Source.id)
        .where(Source.name.in_(names), registry.visible_to(person))
    )
    rows = {source.name: (source, state) for source, state in session.execute(visible)}
    return {name: rows[name] for name in names if name in rows}


def _source_state(source: Source, state: SourceState, config: SourceConfig) -> ViewSource:
    title = config.title or source.name
    return ViewSource(source.id, source.name, title, state.status, state.sentence, state.read_at, state.stamp)


def _columns(view: ViewConfig, configs: Mapping[str, SourceConfig]) -> dict[int, ViewColumn]:
    """Return the columns of the parts by index; parts whose source or field was removed are left out."""
    several = len(view.sources) > 1
    columns = dict[int, ViewColumn]()
    for index, part in enumerate(view.parts):
        field = _field(configs, part)
        if field is not None:
            config = configs[part.source]
            title = field.title or field.key
            named = f"{config.title or config.name}: {title}" if several else title
            kind, unit = _kind(view, field)
            columns[index] = ViewColumn(view.letters[index], named, kind, unit, part.source)
    return columns


def _kind(view: ViewConfig, field: SourceField) -> tuple[ValueKind, str]:
    """Return kind and unit of what is shown: a count has no unit, and a mean of integers is a decimal."""
    kind = field.kind or ValueKind.TEXT
    if view.kind in TIME_KINDS or view.function in (WindowFunction.LAST, WindowFunction.FIRST):
        return kind, field.unit
    if view.function == WindowFunction.COUNT:
        return ValueKind.INTEGER, ""
    return (ValueKind.DECIMAL if kind == ValueKind.INTEGER else kind), field.unit


def _field(configs: Mapping[str, SourceConfig], part: ViewPart) -> SourceField | None:
    config = configs.get(part.source)
    return next((field for field in config.fields if field.key == part.field), None) if config else None


def _formula_columns(view: ViewConfig) -> FormulaColumns:
    letters = view.letters[len(view.parts) :]
    return [
        (ViewColumn(letter, formula.title or formula.text, ValueKind.DECIMAL), parse_expression(formula.text))
        for letter, formula in zip(letters, view.formulas, strict=True)
    ]


def _current_records(
    session: Session, view: ViewConfig, lines: Sequence[SeriesLine], formulas: FormulaColumns, begin: int, end: int
) -> list[ViewRecord]:
    """Return a record for each row, with current values or with the function of the window."""
    rows = dict[str, dict[str, ViewCell]]()
    latest = history.last_values(session, [line.series for line in lines])
    windowed = {letter for _column, expression in formulas for letter in expression.windowed}
    windows = dict[tuple[str, str], WindowSummary]()
    for line in lines:
        letter, event = line.column.letter, latest.get(line.series)
        if event is None or line.is_gone:
            continue
        cell: ViewCell | None = ViewCell(event.value, event.number, event.at)
        if view.function != WindowFunction.LAST or letter in windowed:
            windows[letter, line.row] = summarize_window(session, line.series, begin, end)
            if view.function != WindowFunction.LAST:
                cell = _window_cell(windows[letter, line.row], view.function, event.at)
        if cell is not None:
            rows.setdefault(line.row, {})[letter] = cell
    records = [ViewRecord(row, cells) for row, cells in rows.items()]
    return with_formulas(records, formulas, windows)


def _window_cell(summary: WindowSummary, function: WindowFunction, at: int) -> ViewCell | None:
    values: Mapping[WindowFunction, float | None] = {
        WindowFunction.FIRST: summary.first,
        WindowFunction.COUNT: summary.count,
        WindowFunction.SUM: summary.sum,
        WindowFunction.MEAN: summary.mean,
        WindowFunction.MINIMUM: summary.minimum,
        WindowFunction.MAXIMUM: summary.maximum,
        WindowFunction.CHANGE: summary.change,
    }
    value = values[function]
    return None if value is None else ViewCell(format_result(value), value, at)


def _event_records(session: Session, lines: Iterable[SeriesLine], begin: int, end: int) -> list[ViewRecord]:
    """Return a record for each row and moment with events, newest first."""
    by_moment = dict[tuple[int, str], dict[str, ViewCell]]()
    for line in lines:
        for event in history.newest_events(session, line.series, begin, end, limit=MAX_RECORDS):
            cells = by_moment.setdefault((event.at, line.row), {})
            cells[line.column.letter] = ViewCell(event.value, event.number, event.at)
    newest = sorted(by_moment.items(), key=lambda one: (-one[0][0], one[0][1]))
    return [ViewRecord(row, cells, at) for (at, row), cells in newest]


DEFAULT_WINDOWS_SECONDS = (5 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)
READINGS_PER_WINDOW = 200
"""Readings that fit a default window: fewer look like steps, more cannot be distinguished on a phone."""


def default_view(session: Session, source: Source) -> ViewConfig:
    """Return a view of the fields of a source, as many as fit a screen."""
    config = registry.config_of(source)
    if not config.fields:
        raise ConflictError("The source {source} has no field that could be shown. Give it one.", source=source.name)
    parts = [{"source": source.name, "field": field.key} for field in config.fields[:MAX_COLUMNS]]
    if session.get_one(SourceState, source.id).memory.get("news"):
        return read_view({"kind": ViewKind.TABLE, "events": True, "window": 7 * DAY, "parts": parts})
    kinds = [field.kind or ValueKind.TEXT for field in config.fields]
    kind = default_kind(kinds, len(row_names(session, source.id)))
    return read_view({"kind": kind, "window": default_window(config.interval), "parts": parts})


def default_kind(kinds: Sequence[ValueKind], rows: int) -> ViewKind:
    """Return the kind for values: a table for several rows, a line for one number, text otherwise."""
    if rows > 1:
        return ViewKind.TABLE
    return ViewKind.LINE if len(kinds) == 1 and kinds[0].is_number and kinds[0] != ValueKind.MOMENT else ViewKind.TEXT


def default_window(interval: float) -> float:
    """Return the length of the window in seconds for an interval of reading."""
    return next(
        (window for window in DEFAULT_WINDOWS_SECONDS if window >= interval * READINGS_PER_WINDOW),
        DEFAULT_WINDOWS_SECONDS[-1],
    )
