"""Values that were read from a source: last values, events, values put aside, windows of points, and export files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.models import Event, PutAside, Series, Source
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.services.streams.sources import audit_subject, changeable_source
from tarantula.streams import export, history
from tarantula.streams.export import ExportQuery, StreamFormat
from tarantula.streams.history import ValueSummary
from tarantula.streams.ingest import decisions
from tarantula.streams.ingest import put_aside as aside
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.retention import Grain

MAX_MOMENT_MICROSECONDS = 2**53


class ValueRow(BaseModel):
    """The value that a field of a row has now."""

    field: str
    row: str
    value: str
    number: float | None
    at: int
    """Microseconds since 1970: since when."""


class EventRow(BaseModel):
    """A value that was read, and was not the one before."""

    at: int
    value: str
    number: float | None
    read: str | None
    """The text that was read, where it is not the value itself."""


class AsideRow(BaseModel):
    """A text that may not be the value that was meant."""

    id: int
    field: str
    row: str
    at: int
    read: str
    why: str
    times: int


def last_values(context: ServiceContext, name: str) -> list[ValueRow]:
    """Return the value of every field and row of a source."""
    with context.reading() as session:
        source = registry.get(session, name, context.person.name)
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
    """Return what was read of a field, the latest first."""
    with context.reading() as session:
        series = find_series(session, context, name, field, row)
        place = read_cursor(before)
        found = history.newest_events(session, series, begin, end, checked_limit(limit) + 1, place)
        rows = [EventRow(at=one.at, value=one.value, number=one.number, read=one.read) for one in found]
    more = len(rows) > limit
    return ResultPage(rows=rows[:limit], next=write_cursor(rows[limit - 1].at) if more else None)


def list_put_aside(context: ServiceContext, name: str) -> list[AsideRow]:
    """Return what of a source waits for somebody to decide."""
    with context.reading() as session:
        registry.get(session, name, context.person.name)
        return [_aside(row) for _name, row in aside.pending_texts(session, name, context.person.name)]


def decide_put_aside(context: ServiceContext, name: str, number: int, decision: AsideDecision) -> None:
    """Take a text for the value after all, or say that it is none."""
    with context.reading() as session:
        source = registry.get(session, name, context.person.name)
        subject = audit_subject(source)
        _check_aside(session, source, number)
    with context.changing("source.aside", subject, number=number, decision=decision.value) as session:
        changeable_source(session, context, name)
        act = decisions.accept_text if decision == AsideDecision.ACCEPTED else decisions.dismiss_text
        act(session, number, context.person.name, context.person.name)


def find_series(session: Session, context: ServiceContext, name: str, field: str, row: str) -> int:
    """Return the series of a field and row of a source that somebody may see, or say that there is none."""
    source = registry.get(session, name, context.person.name)
    known = session.execute(select(Series.field, Series.row, Series.id).where(Series.source_id == source.id))
    found = {(one, other): number for one, other, number in known}
    if (field, row) not in found:
        of_row = f" of the row {row!r}" if row else ""
        raise NotFoundError(f"Nothing was read of the field {field!r}{of_row} of {name}.")
    return found[field, row]


def checked_moment(at: int) -> int:
    """Return a moment in microseconds since 1970, or say that it is none."""
    if not -MAX_MOMENT_MICROSECONDS <= at <= MAX_MOMENT_MICROSECONDS:
        raise TarantulaError(f"{at} is no moment. Write microseconds since 1970.")
    return at


def as_datetime(at: int) -> datetime:
    """Return a moment of streams as everybody else has them."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def _check_aside(session: Session, source: Source, number: int) -> None:
    found = session.get(PutAside, number)
    if found is None or found.source_id != source.id:
        raise NotFoundError(f"Nothing was put aside under the number {number} for {source.name}.")


def _value(series: Series, event: Event) -> ValueRow:
    return ValueRow(field=series.field, row=series.row, value=event.value, number=event.number, at=event.at)


def _aside(row: PutAside) -> AsideRow:
    fields: dict[str, Any] = {key: getattr(row, key) for key in AsideRow.model_fields}
    return AsideRow(**fields)


MAX_POINTS = 5000


class ExportSelection(NamedTuple):
    """What of a source is wanted: everything unless told."""

    field: str | None = None
    row: str | None = None
    grain: Grain = Grain.EVENT
    begin: int | None = None
    end: int | None = None


class PointRow(BaseModel):
    """The values of one stretch of a window; exact, as text."""

    at: int
    """Microseconds since 1970: where it begins, or when the event was."""
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
    """The level that fits."""
    before: str | None
    """The value that held when the window began."""
    sentence: str
    """What is not exact, and why."""
    points: list[PointRow]


def get_points(context: ServiceContext, name: str, field: str, row: str, begin: int, end: int, most: int) -> PointRows:
    """Return a window of a field from the level that fits."""
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
    context: ServiceContext, name: str, form: StreamFormat, what: ExportSelection, address: str
) -> Iterator[bytes]:
    """Return a file piece after piece; what cannot be had is said before the first."""
    with context.reading() as session:
        export.check_format(_chosen(session, context, name, what)[1], form)
    return _pieces(context, name, form, what, address)


def _pieces(
    context: ServiceContext, name: str, form: StreamFormat, what: ExportSelection, address: str
) -> Iterator[bytes]:
    with context.reading() as session:
        source, chosen = _chosen(session, context, name, what)
        yield from export.export_chunks(session, source, chosen, form, address)


def _chosen(session: Session, context: ServiceContext, name: str, what: ExportSelection) -> tuple[Source, ExportQuery]:
    source = registry.get(session, name, context.person.name)
    chosen = export.select_export(
        session, source, field=what.field, row=what.row, grain=what.grain, begin=what.begin, end=what.end
    )
    return source, chosen


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
