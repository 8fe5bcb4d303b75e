"""Values that were read from a source: last values, events, values put aside, windows of points, and export files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.core.database import Database
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.validation import MessageText
from tarantula.models import Event, Firing, PutAside, Series, Source, SourceState
from tarantula.services.context import ResultPage, ServiceContext, checked_limit, read_cursor, write_cursor
from tarantula.services.streams.sources import audit_subject, changeable_source
from tarantula.streams import export, history
from tarantula.streams.export import ExportQuery, ExportSeries, StreamFormat
from tarantula.streams.history import HistoryPoints, ValueSummary
from tarantula.streams.history.retention import RetentionSummary, retention_summary
from tarantula.streams.ingest import decisions
from tarantula.streams.ingest import put_aside as aside
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.retention import Grain

MAX_MOMENT_MICROSECONDS = 2**53
MAX_POINTS = 5000
REMOVED_STAMP = -1
"""Stamp of a source that has been removed."""
STAMPS_PER_QUERY = 500


class ValueRow(BaseModel):
    """The current value of a field in a row."""

    field: str
    row: str
    value: str
    number: float | None
    at: int
    """When it took this value, in microseconds since 1970."""


class EventRow(BaseModel):
    """A value that differs from the value before."""

    at: int
    value: str
    number: float | None
    read: str | None
    """The text on the page, if it differs from the value."""


class AsideRow(BaseModel):
    """A doubtful text that was put aside."""

    id: int
    field: str
    row: str
    at: int
    read: str
    why: MessageText
    times: int
    reason_code: str | None
    reason_parameters: dict[str, Any] | None


class ExportSelection(NamedTuple):
    """Selects what to export of a source; the default is everything."""

    field: str | None = None
    row: str | None = None
    grain: Grain = Grain.EVENT
    begin: int | None = None
    end: int | None = None


class SourceHistory(NamedTuple):
    """Stored values of a source, and how long they are kept."""

    config: SourceConfig
    series: list[ExportSeries]
    charts: dict[int, HistoryPoints]
    """By the id of the series."""
    retention: dict[int, RetentionSummary]
    """By the id of the series."""


class PointRow(BaseModel):
    """Aggregates of one interval of a window, exact, as text."""

    at: int
    """Begin of the interval, or time of the event, in microseconds since 1970."""
    count: int
    sum: str | None
    average: str | None
    minimum: str | None
    maximum: str | None
    first: str
    last: str


class PointRows(BaseModel):
    """A window of one field."""

    begin: int
    end: int
    grain: str
    """Level of aggregation."""
    before: str | None
    """Value at the begin of the window."""
    sentence: str
    """Inexact parts, with the reason; empty if all is exact."""
    points: list[PointRow]


def last_values(context: ServiceContext, name: str) -> list[ValueRow]:
    """Return the current values of all fields and rows of a source."""
    with context.reading() as session:
        source = registry.get(session, name, context.viewer)
        series = session.scalars(select(Series).where(Series.source_id == source.id).order_by(Series.row, Series.id))
        known = {one.id: one for one in series}
        latest = history.last_values(session, known)
        return [_value(known[number], latest[number]) for number in known if number in latest]


def list_events(
    context: ServiceContext,
    name: str,
    field: str,
    row: str = "",
    *,
    begin: int | None = None,
    end: int | None = None,
    limit: int = 50,
    before: str | None = None,
) -> ResultPage[EventRow]:
    """Return the events of a field, newest first."""
    with context.reading() as session:
        series = find_series(session, context, name, field, row)
        place = read_cursor(before)
        found = history.newest_events(session, series, begin, end, checked_limit(limit) + 1, place)
        rows = [EventRow(at=one.at, value=one.value, number=one.number, read=one.read) for one in found]
    more = len(rows) > limit
    return ResultPage(rows=rows[:limit], next=write_cursor(rows[limit - 1].at) if more else None)


def list_put_aside(context: ServiceContext, name: str) -> list[AsideRow]:
    """Return the texts of a source that wait for a decision."""
    with context.reading() as session:
        registry.get(session, name, context.viewer)
        return [_aside(row) for _name, row in aside.pending_texts(session, name, context.viewer)]


def pending_texts(context: ServiceContext, name: str | None = None) -> list[tuple[str, PutAside]]:
    """Return the texts that wait for a decision, of one source or of all, each with the name of its source."""
    with context.reading() as session:
        return aside.pending_texts(session, name, context.viewer)


def decide_put_aside(context: ServiceContext, name: str, number: int, decision: AsideDecision) -> None:
    """Accept a text that was put aside as the value, or dismiss it."""
    with context.reading() as session:
        source = registry.get(session, name, context.viewer)
        subject = audit_subject(source)
        _check_aside(session, source, number)
    with context.changing("source.aside", subject, number=number, decision=decision.value) as session:
        changeable_source(session, context, name)
        decide = decisions.accept_text if decision == AsideDecision.ACCEPTED else decisions.dismiss_text
        decide(session, number, context.person.name, context.viewer)


def accept_put_aside(context: ServiceContext, number: int, by: str | None = None) -> str:
    """Accept a text that was put aside, found by its number alone; return the value."""
    subject = _aside_subject(context, number)
    who = context.person.name if by is None else by
    with context.changing("source.aside", subject, number=number, decision=AsideDecision.ACCEPTED.value) as session:
        return decisions.accept_text(session, number, who, context.viewer).text


def dismiss_put_aside(context: ServiceContext, number: int, by: str | None = None) -> None:
    """Dismiss a text that was put aside, found by its number alone."""
    subject = _aside_subject(context, number)
    who = context.person.name if by is None else by
    with context.changing("source.aside", subject, number=number, decision=AsideDecision.DISMISSED.value) as session:
        decisions.dismiss_text(session, number, who, context.viewer)


def newest_events(
    context: ServiceContext, name: str, what: ExportSelection, limit: int
) -> list[tuple[ExportSeries, Event]]:
    """Return the newest events of every selected series of a source, at most *limit* of each; newest first."""
    with context.reading() as session:
        query = _export_query(session, context, name, what)[1]
        found = [
            (series, event)
            for series in query.series
            for event in history.newest_events(session, series.id, query.begin, query.end, limit)
        ]
    return sorted(found, key=lambda pair: -pair[1].at)


def source_history(context: ServiceContext, name: str, begin: int, end: int, points: int) -> SourceHistory:
    """Return a window of every series of a source with at most *points* points each, and what is stored of it."""
    with context.reading() as session:
        source, query = _export_query(session, context, name, ExportSelection())
        numbers = [series.id for series in query.series]
        return SourceHistory(
            registry.config_of(source),
            query.series,
            history.chart_points_of(session, numbers, begin, end, points),
            {number: retention_summary(session, number) for number in numbers},
        )


def get_points(context: ServiceContext, name: str, field: str, row: str, begin: int, end: int, most: int) -> PointRows:
    """Return a window of a field with at most *most* points, from the finest level that allows it."""
    with context.reading() as session:
        found = history.chart_points(session, find_series(session, context, name, field, row), begin, end, most)
    return PointRows(
        begin=found.begin,
        end=found.end,
        grain=found.grain.name.lower(),
        before=found.before,
        sentence=found.sentence,
        points=[_point(one.at, one.summary) for one in found.points],
    )


def export_chunks(
    context: ServiceContext, name: str, form: StreamFormat, what: ExportSelection, address: str = ""
) -> Iterator[bytes]:
    """Return the chunks of an export file; raises before the first chunk if the format does not fit."""
    with context.reading() as session:
        source, query = _export_query(session, context, name, what)
    export.check_format(query, form)

    @contextmanager
    def reading() -> Iterator[Session]:
        with context.reading() as session:
            # The download breaks off, rather than end early, if the source was removed or is not theirs any more.
            if registry.get(session, name, context.viewer).id != source.id:
                raise NotFoundError("The source {name} was replaced by another one meanwhile.", name=name)
            yield session

    return export.export_chunks(reading, source, query, form, address)


def find_series(session: Session, context: ServiceContext, name: str, field: str, row: str) -> int:
    """Return the series id of a field and row of a source that the person may see, or raise `NotFoundError`."""
    source = registry.get(session, name, context.viewer)
    known = session.execute(select(Series.field, Series.row, Series.id).where(Series.source_id == source.id))
    found = {(one, other): number for one, other, number in known}
    if (field, row) not in found:
        of_row = f" of the row {row!r}" if row else ""
        raise NotFoundError(
            "Nothing was read of the field {field!r}{of_row} of {name}.", field=field, of_row=of_row, name=name
        )
    return found[field, row]


def checked_moment(at: int) -> int:
    """Return a moment in microseconds since 1970 if it is in range; otherwise raise."""
    if not -MAX_MOMENT_MICROSECONDS <= at <= MAX_MOMENT_MICROSECONDS:
        raise TarantulaError("{at} is not a moment. Write microseconds since 1970.", at=at)
    return at


def as_datetime(at: int) -> datetime:
    """Convert microseconds since 1970 to a datetime."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def _aside_subject(context: ServiceContext, number: int) -> str:
    """Return the audit subject of a text that was put aside; the decision itself complains about a wrong number."""
    with context.reading(Role.ADMINISTRATOR) as session:
        row = session.get(PutAside, number)
        return audit_subject(session.get_one(Source, row.source_id)) if row is not None else ""


def _check_aside(session: Session, source: Source, number: int) -> None:
    found = session.get(PutAside, number)
    if found is None or found.source_id != source.id:
        raise NotFoundError(
            "Nothing was put aside under the number {number} for {source}.", number=number, source=source.name
        )


def _value(series: Series, event: Event) -> ValueRow:
    return ValueRow(field=series.field, row=series.row, value=event.value, number=event.number, at=event.at)


def _aside(row: PutAside) -> AsideRow:
    fields: dict[str, Any] = {key: getattr(row, key) for key in AsideRow.model_fields}
    return AsideRow(**fields)


def _export_query(
    session: Session, context: ServiceContext, name: str, what: ExportSelection
) -> tuple[Source, ExportQuery]:
    source = registry.get(session, name, context.viewer)
    query = export.select_export(
        session, source, field=what.field, row=what.row, grain=what.grain, begin=what.begin, end=what.end
    )
    return source, query


def _point(at: int, summary: ValueSummary) -> PointRow:
    return PointRow(
        at=at,
        count=summary.count,
        sum=summary.value(Aggregation.SUM),
        average=summary.value(Aggregation.AVERAGE),
        minimum=summary.minimum,
        maximum=summary.maximum,
        first=summary.first,
        last=summary.last,
    )


def source_stamps(database: Database, ids: Sequence[int]) -> tuple[dict[int, int], int]:
    """Return the stamp of each source, and the id of the newest firing of all accounts.

    A stamp changes with each reading. Removed sources have `REMOVED_STAMP`. Nothing of the sources is revealed, so
    this needs no account.
    """
    stamps = dict.fromkeys(ids, REMOVED_STAMP)
    with database.reading() as session:
        for start in range(0, len(ids), STAMPS_PER_QUERY):
            batch = ids[start : start + STAMPS_PER_QUERY]
            rows = select(SourceState.source_id, SourceState.stamp).where(SourceState.source_id.in_(batch))
            stamps.update((number, stamp) for number, stamp in session.execute(rows))
        return stamps, session.scalar(select(func.max(Firing.id))) or 0
