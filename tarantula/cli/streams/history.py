"""``tarantula stream events``, ``history`` and ``export``: stored values, how long they are stored, and files."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli.terminal import Json, console, table, write_json
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.times import parse_moment
from tarantula.services.context import local_context
from tarantula.services.streams import values
from tarantula.services.streams.values import ExportSelection, SourceHistory
from tarantula.streams.export import StreamFormat
from tarantula.streams.history import moment_of
from tarantula.streams.history.retention import sparkline
from tarantula.streams.kinds import Aggregation, ValueKind, default_aggregation
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.retention import Grain

DEFAULT_WINDOW = timedelta(days=30)
OMITTED_AGGREGATIONS = (Aggregation.COUNT, Aggregation.MODE)
"""Aggregations that the JSON of points leaves out."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The source.")]
Field = Annotated[str | None, typer.Option("--field", help="Only this field; default all.")]
Row = Annotated[str | None, typer.Option("--row", help="Only this row; default all.")]
Begin = Annotated[
    str | None, typer.Option("--begin", metavar="MOMENT", help="Start of the window, as 2026-06-12 22:00.")
]
End = Annotated[str | None, typer.Option("--end", metavar="MOMENT", help="End of the window; default now.")]


def events(
    name: Name,
    field: Field = None,
    row: Row = None,
    begin: Begin = None,
    end: End = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum events of each series.")] = 50,
    as_json: Json = False,
) -> None:
    """List the values that differ from the value before, newest first."""
    selection = ExportSelection(field, row, begin=_microseconds(begin), end=_microseconds(end))
    with local_context() as context:
        found = values.newest_events(context, name, selection, limit)
    if as_json:
        write_json(
            [
                {"at": moment_of(event.at).isoformat(), "field": series.field, "row": series.row}
                | {"value": event.value, "number": event.number, "read": event.read}
                for series, event in found
            ]
        )
        return
    drawn = table("at", "field", "row", "value", "read", numbers=("value",), whole="at")
    for series, event in found:
        at = moment_of(event.at).astimezone()
        drawn.add_row(f"{at:%Y-%m-%d %H:%M:%S}", series.field, series.row, event.value, event.read or "")
    console().print(drawn)


def history(
    name: Name,
    points: Annotated[int, typer.Option("--points", min=1, max=1000, help="Maximum points of each series.")] = 60,
    begin: Begin = None,
    end: End = None,
    as_json: Json = False,
) -> None:
    """Show what is stored of a source, what was deleted, and a sparkline of each series."""
    until = _microseconds(end) or _now()
    since = _microseconds(begin)
    first = since if since is not None else until - DEFAULT_WINDOW // timedelta(microseconds=1)
    with local_context() as context:
        found = values.source_history(context, name, first, until, points)
    if as_json:
        write_json(_as_dict(found))
        return
    print(f"{found.config.retention.sentence}.")
    for series in found.series:
        chart, aggregation = found.charts[series.id], _aggregation(found.config, series.field)
        numbers = [point.number(aggregation) for point in chart.points]
        print(
            f"\n{' '.join(part for part in (series.row, series.field) if part)} ({aggregation})  {sparkline(numbers)}"
        )
        for sentence in (chart.sentence, *found.retention[series.id].sentences):
            if sentence:
                print(f"  {sentence}")


def export(
    name: Name,
    form: Annotated[StreamFormat, typer.Option("--format", help="Format.")] = StreamFormat.CSV,
    grain: Annotated[str, typer.Option("--grain", help="event, or a level: minute, hour, day, month, year.")] = "event",
    field: Field = None,
    row: Row = None,
    begin: Begin = None,
    end: End = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Output file; default standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing output.")] = False,
) -> None:
    """Write values as CSV, JSON or Parquet, as events or aggregated; or as an Atom feed, or for Prometheus."""
    if output is not None and output.exists() and not force:
        raise TarantulaError("{output} exists already. Name another file, or give --force.", output=output)
    if output is None and form is StreamFormat.PARQUET and sys.stdout.isatty():
        raise TarantulaError("Parquet is binary: give a file with --output FILE.")
    selection = ExportSelection(field, row, _grain(grain), _microseconds(begin), _microseconds(end))
    with local_context() as context:
        chunks = values.export_chunks(context, name, form, selection)
        if output is None:
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
            return
        try:
            with output.open("wb") as file:
                file.writelines(chunks)
        except OSError as error:
            raise TarantulaError("{output} cannot be written: {error}.", output=output, error=error.strerror) from error
    print(f"{output}: {output.stat().st_size:,} bytes.")


def register(app: typer.Typer) -> None:
    """Add the commands of this file to a group."""
    for command in (events, history, export):
        app.command(command.__name__)(command)


def _as_dict(found: SourceHistory) -> dict[str, Any]:
    return {
        "retention": str(found.config.retention),
        "series": [
            {
                "field": series.field,
                "row": series.row,
                "zone": series.zone,
                "grain": found.charts[series.id].grain.name.lower(),
                "step": found.charts[series.id].step,
                "is_exact": found.charts[series.id].is_exact,
                "points": [
                    {"at": moment_of(point.at).isoformat(), "count": point.summary.count}
                    | {way.value: point.summary.value(way) for way in Aggregation if way not in OMITTED_AGGREGATIONS}
                    for point in found.charts[series.id].points
                ],
                "kept": found.retention[series.id].as_dict(),
            }
            for series in found.series
        ],
    }


def _aggregation(config: SourceConfig, key: str) -> Aggregation:
    field = next((field for field in config.fields if field.key == key), None)
    if field is None:
        return Aggregation.AVERAGE
    return field.aggregation or default_aggregation(field.kind or ValueKind.DECIMAL)


def _grain(name: str) -> Grain:
    try:
        return Grain[name.strip().upper().removesuffix("S")]
    except KeyError as error:
        known = ", ".join(grain.name.lower() for grain in Grain)
        raise TarantulaError("{name!r} is not a level. Choose one of {known}.", name=name[:40], known=known) from error


def _microseconds(text: str | None) -> int | None:
    try:
        moment = parse_moment(text, Config().zone)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    return None if moment is None else int(moment.timestamp()) * 1_000_000


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000)
