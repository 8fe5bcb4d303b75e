"""What was read of a source, out again: windows as points, and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.services.context import Desk
from tarantula.services.streams.values import series_named
from tarantula.streams import export, history
from tarantula.streams.export import Chosen, Format
from tarantula.streams.history import Summary
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Source

MOST_POINTS = 5000


class Wanted(NamedTuple):
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


def points(desk: Desk, name: str, field: str, row: str, begin: int, end: int, most: int) -> PointRows:
    """Return a window of a field from the level that fits."""
    with desk.reading() as session:
        found = history.points(session, series_named(session, desk, name, field, row), begin, end, most)
    return PointRows(
        begin=found.begin,
        end=found.end,
        grain=found.grain.name.lower(),
        before=found.before,
        sentence=found.sentence,
        points=[_point(one.at, one.summary) for one in found.points],
    )


def written(desk: Desk, name: str, form: Format, what: Wanted, address: str) -> Iterator[bytes]:
    """Return a file piece after piece; what cannot be had is said before the first."""
    with desk.reading() as session:
        export.check(_chosen(session, desk, name, what)[1], form)
    return _pieces(desk, name, form, what, address)


def _pieces(desk: Desk, name: str, form: Format, what: Wanted, address: str) -> Iterator[bytes]:
    with desk.reading() as session:
        source, chosen = _chosen(session, desk, name, what)
        yield from export.exported(session, source, chosen, form, address)


def _chosen(session: Session, desk: Desk, name: str, what: Wanted) -> tuple[Source, Chosen]:
    source = registry.get(session, name, desk.person.name)
    chosen = export.chosen(
        session, source, field=what.field, row=what.row, grain=what.grain, begin=what.begin, end=what.end
    )
    return source, chosen


def _point(at: int, summary: Summary) -> PointRow:
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
