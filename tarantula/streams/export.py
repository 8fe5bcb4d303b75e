"""Export of stored values: CSV, JSON, Parquet, an Atom feed, Prometheus."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from itertools import groupby
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.csv_text import csv_text
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.models import Event, Series, Source
from tarantula.store.bulk import chunks
from tarantula.streams.history import last_values, moment_of, newest_events
from tarantula.streams.history.charts import SHORTEST_BUCKETS
from tarantula.streams.history.coverage import SeriesRows, WindowCover, forgotten_before, query_rows, query_scalar
from tarantula.streams.history.levels import EARLIEST_TIME, LATEST_TIME, calendar_of
from tarantula.streams.history.summary import ValueSummary, merge_summaries
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.retention import Grain

PARQUET_GROUP_ROWS = 50_000
"""Rows per row group, which is held in memory."""
ATOM_NAMESPACE = "http://www.w3.org/2005/Atom"
MAX_FEED_ENTRIES = 100
METRIC_NAME = "tarantula_stream_value"
METRIC_HELP = "Latest value of a source."
METRIC_LABELS = ("source", "field", "row")


SessionOpener = Callable[[], AbstractContextManager[Session]]
"""Opens a session for one query: none is open while a reader takes what was read."""
ROWS_PER_QUERY = 2000
EVENT_COLUMNS = ("at", "field", "row", "value", "number", "read")
LEVEL_COLUMNS = (
    "start", "field", "row", "count", "sum", "average", "minimum", "maximum", "first", "last", "mode",
)  # fmt: skip
_EVENTS = "SELECT at, value, number, read FROM event WHERE series_id = ? AND at >= ? AND at < ? ORDER BY at LIMIT ?"
_NEXT = "SELECT min(start) FROM level WHERE series_id = ? AND grain = ? AND start >= ?"
_NEXT_STALE = "SELECT min(start) FROM stale_level WHERE series_id = ? AND start >= ?"


class ExportSeries(NamedTuple):
    id: int
    field: str
    row: str
    zone: str


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """Selection of rows to export: series, grain and period."""

    source: str
    series: list[ExportSeries]
    grain: Grain = Grain.EVENT
    begin: int = EARLIEST_TIME
    end: int = LATEST_TIME

    @property
    def columns(self) -> tuple[str, ...]:
        return EVENT_COLUMNS if self.grain is Grain.EVENT else LEVEL_COLUMNS


def select_export(
    session: Session,
    source: Source,
    *,
    field: str | None = None,
    row: str | None = None,
    grain: Grain = Grain.EVENT,
    begin: int | None = None,
    end: int | None = None,
) -> ExportQuery:
    """Select rows of a source: all fields and rows unless given, events unless *grain* is a level."""
    known = [
        ExportSeries(one.id, one.field, one.row, one.zone)
        for one in session.scalars(select(Series).where(Series.source_id == source.id).order_by(Series.id))
    ]
    for what, name, have in (
        ("field", field, {one.field for one in known}),
        ("row", row, {one.row for one in known}),
    ):
        if name is not None and name not in have:
            there = ", ".join(sorted(have)[:10]) or "none yet"
            raise NotFoundError(
                "{source} has no {what} {name!r}.{hint} There are: {there}.",
                source=source.name,
                what=what,
                name=name[:80],
                hint=did_you_mean(name, have),
                there=there,
            )
    wanted = [one for one in known if field in (None, one.field) and row in (None, one.row)]
    return ExportQuery(
        source.name, wanted, grain, EARLIEST_TIME if begin is None else begin, LATEST_TIME if end is None else end
    )


def export_rows(reading: SessionOpener, query: ExportQuery) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of each series, oldest first, with exact values; each page is read in a session of its own."""
    for series in query.series:
        if query.grain is Grain.EVENT:
            yield from _events(reading, series, query)
        else:
            yield from _levels(reading, series, query)


def _events(reading: SessionOpener, series: ExportSeries, query: ExportQuery) -> Iterator[tuple[Any, ...]]:
    begin = query.begin
    while rows := _page(reading, series.id, begin, query.end):
        for at, value, number, read in rows:
            yield at, series.field, series.row, value, number, read
        begin = rows[-1][0] + 1


def _page(reading: SessionOpener, series_id: int, begin: int, end: int) -> list[Any]:
    with reading() as session:
        return list(query_rows(session, _EVENTS, series_id, begin, end, ROWS_PER_QUERY))


def _levels(reading: SessionOpener, series: ExportSeries, query: ExportQuery) -> Iterator[tuple[Any, ...]]:
    """Yield whole buckets; stale ones are computed on the fly, and deleted ones are not replaced by coarser ones."""
    calendar, grain = calendar_of(series.zone), query.grain
    with reading() as session:
        stretch = SeriesRows(session, series.id).time_range(forgotten_before(session, series.id))
    if stretch is None:
        return
    begin = calendar.start_of(max(query.begin, stretch[0]), grain)
    last = min(query.end, stretch[1])
    while True:
        with reading() as session:
            found = _next(session, series.id, grain, begin)
            if found is None or found >= last:
                return
            begin = calendar.start_of(found, grain)
            end = calendar.start_of(begin + ROWS_PER_QUERY * SHORTEST_BUCKETS[grain], grain)
            end = min(end, calendar.end_of(calendar.start_of(last - 1, grain), grain))
            parts = list(WindowCover(session, series.id, calendar, counting=True).parts(grain, begin, end))
        fine = (part for part in parts if part.grain <= grain)
        for start, some in groupby(fine, lambda part: calendar.start_of(part.start, grain)):
            yield start, series.field, series.row, *_said(merge_summaries([part.summary for part in some]))
        begin = end


def _next(session: Session, series_id: int, grain: Grain, begin: int) -> int | None:
    """Return the start of the next bucket that is stored or stale."""
    found = (
        query_scalar(session, _NEXT, series_id, grain, begin),
        query_scalar(session, _NEXT_STALE, series_id, begin),
    )
    return min((start for start in found if start is not None), default=None)


def _said(summary: ValueSummary) -> tuple[Any, ...]:
    return (
        summary.count,
        summary.value(Aggregation.SUM),
        summary.value(Aggregation.AVERAGE),
        summary.minimum,
        summary.maximum,
        summary.first,
        summary.last,
        summary.mode,
    )


def csv_chunks(reading: SessionOpener, query: ExportQuery) -> Iterator[bytes]:
    """Yield a header and a line for each row; times in UTC, values as stored."""
    yield csv_text([query.columns]).encode()
    for some in chunks(export_rows(reading, query)):
        yield csv_text((moment_of(row[0]).isoformat(), *row[1:]) for row in some).encode()


def json_chunks(reading: SessionOpener, query: ExportQuery) -> Iterator[bytes]:
    """Yield a list with one object per line; values are exact texts, ``number`` is a float."""
    yield b"["
    between = "\n"
    for some in chunks(export_rows(reading, query)):
        lines = []
        for row in some:
            named = dict(zip(query.columns, (moment_of(row[0]).isoformat(), *row[1:]), strict=True))
            lines.append(json.dumps(named, ensure_ascii=False, allow_nan=False))
        yield (between + ",\n".join(lines)).encode()
        between = ",\n"
    yield b"\n]\n"


class _ChunkBuffer(BytesIO):
    """Buffer that returns what was written since the last call."""

    def taken(self) -> bytes:
        """Return and remove the content; the writer's position is not affected."""
        data = self.getvalue()
        self.seek(0)
        self.truncate()
        return data


def parquet_chunks(reading: SessionOpener, query: ExportQuery) -> Iterator[bytes]:
    """Yield a Parquet file; times in UTC, values are exact texts, ``number`` is a float."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise TarantulaError("Parquet is written with pyarrow: pip install 'tarantula[streams]'") from error
    schema = pyarrow.schema([(column, _type(pyarrow, column)) for column in query.columns])
    outlet = _ChunkBuffer()
    with parquet.ParquetWriter(pyarrow.PythonFile(outlet, mode="w"), schema) as writer:
        for some in chunks(export_rows(reading, query), PARQUET_GROUP_ROWS):
            columns = [list(column) for column in zip(*some, strict=True)]
            arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            yield outlet.taken()
    yield outlet.taken()


def _type(pyarrow: Any, column: str) -> Any:
    if column in ("at", "start"):
        return pyarrow.timestamp("us", "UTC")
    return {"count": pyarrow.int64(), "number": pyarrow.float64()}.get(column, pyarrow.string())


class StreamFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ATOM = "atom"
    """Feed of the newest events."""
    PROMETHEUS = "prometheus"
    """Latest numeric values."""

    @property
    def media_type(self) -> str:
        return {
            StreamFormat.CSV: "text/csv; charset=utf-8; header=present",
            StreamFormat.JSON: "application/json",
            StreamFormat.PARQUET: "application/vnd.apache.parquet",
            StreamFormat.ATOM: "application/atom+xml",
            StreamFormat.PROMETHEUS: "text/plain; version=0.0.4; charset=utf-8",
        }[self]


_OF_ROWS: dict[StreamFormat, Callable[[SessionOpener, ExportQuery], Iterator[bytes]]] = {
    StreamFormat.CSV: csv_chunks,
    StreamFormat.JSON: json_chunks,
    StreamFormat.PARQUET: parquet_chunks,
}


def check_format(query: ExportQuery, form: StreamFormat) -> None:
    """Raise an error if a format cannot hold the selected rows."""
    if form not in _OF_ROWS and query.grain is not Grain.EVENT:
        raise TarantulaError(
            "Levels can be exported as {forms}; {form} holds events only. "
            "Choose another format, or leave the grain out.",
            forms=", ".join(_OF_ROWS),
            form=form,
        )


def export_chunks(
    reading: SessionOpener, source: Source, query: ExportQuery, form: StreamFormat, address: str = ""
) -> Iterator[bytes]:
    """Yield the export in chunks, with no session open between two of them.

    *address* is the URL at which a feed will be available.
    """
    if form in _OF_ROWS:
        yield from _OF_ROWS[form](reading, query)
        return
    with reading() as session:
        if form is StreamFormat.ATOM:
            whole = atom_feed(session, source, query, address)
        else:
            whole = prometheus_text(selected_numbers(session, query))
    yield whole


def atom_feed(
    session: Session, source: Source, query: ExportQuery, address: str, most: int = MAX_FEED_ENTRIES
) -> bytes:
    """Return the newest events of a source as a feed, with a link to *address* if it is given."""
    config = registry.config_of(source)
    series = {one.id: one for one in query.series}
    found = [event for one in series for event in newest_events(session, one, query.begin, query.end, limit=most)]
    newest = sorted(found, key=lambda event: (-event.at, event.series_id))[:most]
    feed = Element("feed", xmlns=ATOM_NAMESPACE)
    _add(feed, "id", f"urn:tarantula:stream:{source.name}")
    _add(feed, "title", config.title or source.name)
    if config.description:
        _add(feed, "subtitle", config.description)
    if address:
        SubElement(feed, "link", rel="self", type="application/atom+xml", href=_clean(address))
    updated = moment_of(newest[0].at) if newest else source.changed_at
    _add(feed, "updated", updated.isoformat())
    author = SubElement(feed, "author")
    _add(author, "name", source.owner or "Tarântula")
    fields = {field.key: field for field in config.fields}
    for event in newest:
        one = series[event.series_id]
        field = fields.get(one.field)
        name = (field.title if field else "") or one.field
        what_it_is = " ".join(part for part in (one.row, name) if part)
        _entry(feed, source.name, event, what_it_is, field.unit if field else "")
    document = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return bytes(document)


def _entry(feed: Element, source: str, event: Event, what: str, unit: str) -> None:
    entry = SubElement(feed, "entry")
    _add(entry, "id", f"urn:tarantula:stream:{source}:{event.series_id}:{event.at}")
    _add(entry, "title", f"{what}: {event.value} {unit}".strip())
    _add(entry, "updated", moment_of(event.at).isoformat())
    SubElement(entry, "content", type="text").text = _clean(event.value)


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _clean(text)


def _clean(text: str) -> str:
    """Remove characters that XML 1.0, section 2.2, does not allow."""
    return "".join(
        letter
        for letter in text
        if letter in "\t\n\r" or " " <= letter <= "\ud7ff" or "\ue000" <= letter <= "\ufffd" or letter > "\uffff"
    )


class MetricLabels(NamedTuple):
    source: str
    field: str
    row: str


def last_numbers(session: Session) -> dict[MetricLabels, float]:
    """Return the latest numeric values of all public sources."""
    rows = session.execute(
        select(Series.id, Source.name, Series.field, Series.row)
        .join(Source, Source.id == Series.source_id)
        .where(Source.is_private.is_(False))
        .order_by(Source.name, Series.id)
    ).all()
    return _numbers(session, {series: MetricLabels(*labels) for series, *labels in rows})


def selected_numbers(session: Session, query: ExportQuery) -> dict[MetricLabels, float]:
    """Return the latest numeric values of a selection; its source may be private."""
    return _numbers(session, {one.id: MetricLabels(query.source, one.field, one.row) for one in query.series})


def _numbers(session: Session, wanted: Mapping[int, MetricLabels]) -> dict[MetricLabels, float]:
    latest = last_values(session, wanted)
    return {
        labels: number
        for series, labels in wanted.items()
        if series in latest and (number := latest[series].number) is not None and math.isfinite(number)
    }


def prometheus_text(values: Mapping[MetricLabels, float]) -> bytes:
    """Return values in Prometheus's text format."""
    lines = [f"# HELP {METRIC_NAME} {METRIC_HELP}", f"# TYPE {METRIC_NAME} gauge"]
    for labels, value in values.items():
        named = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(METRIC_LABELS, labels, strict=True))
        lines.append(f"{METRIC_NAME}{{{named}}} {value!r}")
    return ("\n".join(lines) + "\n").encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
