"""What was read of a source, out again: windows as points, and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.services.context import ServiceContext
from tarantula.services.streams.values import find_series
from tarantula.streams import export, history
from tarantula.streams.export import ExportQuery, StreamFormat
from tarantula.streams.history import ValueSummary
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Source

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


def get_points(desk: ServiceContext, name: str, field: str, row: str, begin: int, end: int, most: int) -> PointRows:
    """Return a window of a field from the level that fits."""
    with desk.reading() as session:
        found = history.chart_points(session, find_series(session, desk, name, field, row), begin, end, most)
    return PointRows(
        begin=found.begin,
        end=found.end,
        grain=found.grain.name.lower(),
        before=found.before,
        sentence=found.sentence,
        points=[_point(one.at, one.summary) for one in found.points],
    )


def export_chunks(
    desk: ServiceContext, name: str, form: StreamFormat, what: ExportSelection, address: str
) -> Iterator[bytes]:
    """Return a file piece after piece; what cannot be had is said before the first."""
    with desk.reading() as session:
        export.check_format(_chosen(session, desk, name, what)[1], form)
    return _pieces(desk, name, form, what, address)


def _pieces(
    desk: ServiceContext, name: str, form: StreamFormat, what: ExportSelection, address: str
) -> Iterator[bytes]:
    with desk.reading() as session:
        source, chosen = _chosen(session, desk, name, what)
        yield from export.export_chunks(session, source, chosen, form, address)


def _chosen(session: Session, desk: ServiceContext, name: str, what: ExportSelection) -> tuple[Source, ExportQuery]:
    source = registry.get(session, name, desk.person.name)
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
