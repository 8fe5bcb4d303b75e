"""``tarantula stream events``, ``history`` and ``export``: what was read, and how it is kept."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli.terminal import console, table, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.times import parse_moment
from tarantula.streams.export.formats import StreamFormat, check_format, export_chunks
from tarantula.streams.export.rows import ExportQuery, moment_of, select_export
from tarantula.streams.history import chart_points_of
from tarantula.streams.history import newest_events as events_of
from tarantula.streams.history.retention import retention_summary, sparkline
from tarantula.streams.kinds import Aggregation, ValueKind, default_aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.retention import Grain

DEFAULT_WINDOW = timedelta(days=30)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The source.")]
Field = Annotated[str | None, typer.Option("--field", help="Only this field; all unless told.")]
Row = Annotated[str | None, typer.Option("--row", help="Only this row; all unless told.")]
Begin = Annotated[str | None, typer.Option("--begin", metavar="MOMENT", help="From when on, as 2026-06-12 22:00.")]
End = Annotated[str | None, typer.Option("--end", metavar="MOMENT", help="Until when; now unless told.")]
Json = Annotated[bool, typer.Option("--json", help="For a program to read.")]


def events(
    name: Name,
    field: Field = None,
    row: Row = None,
    begin: Begin = None,
    end: End = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Of each series, at most.")] = 50,
    as_json: Json = False,
) -> None:
    """Show what was read and was not the same as before, the newest first."""
    with open_database() as database, database.reading() as session:
        what = select_export(
            session, registry.get(session, name), field=field, row=row, begin=_moment(begin), end=_moment(end)
        )
        found = [
            (one, event) for one in what.series for event in events_of(session, one.id, what.begin, what.end, limit)
        ]
    found.sort(key=lambda pair: -pair[1].at)
    if as_json:
        write_json(
            [
                {"at": moment_of(event.at).isoformat(), "field": one.field, "row": one.row}
                | {"value": event.value, "number": event.number, "read": event.read}
                for one, event in found
            ]
        )
        return
    drawn = table("at", "field", "row", "value", "read", numbers=("value",), whole="at")
    for one, event in found:
        at = moment_of(event.at).astimezone()
        drawn.add_row(f"{at:%Y-%m-%d %H:%M:%S}", one.field, one.row, event.value, event.read or "")
    console().print(drawn)


def history(
    name: Name,
    points: Annotated[int, typer.Option("--points", min=1, max=1000, help="How many of each series, at most.")] = 60,
    begin: Begin = None,
    end: End = None,
    as_json: Json = False,
) -> None:
    """Show what is kept of a source, what was forgotten, and a little picture of each of its series."""
    until = _moment(end) or _now()
    since = _moment(begin)
    with open_database() as database, database.reading() as session:
        source = registry.get(session, name)
        config, what = registry.config_of(source), select_export(session, source)
        first = since if since is not None else until - DEFAULT_WINDOW // timedelta(microseconds=1)
        drawn = chart_points_of(session, [one.id for one in what.series], first, until, points)
        kept = {one.id: retention_summary(session, one.id) for one in what.series}
    if as_json:
        write_json(_as_dict(config, what, drawn, kept))
        return
    print(f"{config.retention.sentence}.")
    for one in what.series:
        found, way = drawn[one.id], _aggregation(config, one.field)
        numbers = [point.number(way) for point in found.points]
        print(f"\n{' '.join(part for part in (one.row, one.field) if part)} ({way})  {sparkline(numbers)}")
        for sentence in (found.sentence, *kept[one.id].sentences):
            if sentence:
                print(f"  {sentence}")


def export(
    name: Name,
    form: Annotated[StreamFormat, typer.Option("--format", help="How it is written.")] = StreamFormat.CSV,
    grain: Annotated[str, typer.Option("--grain", help="event, or a level: minute, hour, day, month, year.")] = "event",
    field: Field = None,
    row: Row = None,
    begin: Begin = None,
    end: End = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; the standard output unless told.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write what was read as CSV, JSON or Parquet, event by event or summed up; or as a feed, or for Prometheus."""
    if output is not None and output.exists() and not force:
        raise TarantulaError(f"{output} is there already. Name another file, or say --force.")
    if output is None and form is StreamFormat.PARQUET and sys.stdout.isatty():
        raise TarantulaError("Parquet is nothing to look at: say where to with --output FILE.")
    with open_database() as database, database.reading() as session:
        source = registry.get(session, name)
        what = select_export(
            session, source, field=field, row=row, grain=_grain(grain), begin=_moment(begin), end=_moment(end)
        )
        check_format(what, form)
        pieces = export_chunks(session, source, what, form)
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            return
        try:
            with output.open("wb") as file:
                file.writelines(pieces)
        except OSError as error:
            raise TarantulaError(f"{output} cannot be written: {error.strerror}.") from error
    print(f"{output}: {output.stat().st_size:,} bytes.")


def register(app: typer.Typer) -> None:
    """Give a group the commands of this file."""
    for command in (events, history, export):
        app.command(command.__name__)(command)


def _as_dict(config: SourceConfig, what: ExportQuery, drawn: Any, kept: Any) -> dict[str, Any]:
    return {
        "retention": str(config.retention),
        "series": [
            {
                "field": one.field,
                "row": one.row,
                "zone": one.zone,
                "grain": drawn[one.id].grain.name.lower(),
                "step": drawn[one.id].step,
                "is_exact": drawn[one.id].is_exact,
                "points": [
                    {"at": moment_of(point.at).isoformat(), "count": point.summary.count}
                    | {way.value: point.summary.value(way) for way in Aggregation if way not in _LEFT_OUT}
                    for point in drawn[one.id].points
                ],
                "kept": kept[one.id].as_dict(),
            }
            for one in what.series
        ],
    }


_LEFT_OUT = (Aggregation.COUNT, Aggregation.MODE)


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
        raise TarantulaError(f"{name[:40]!r} is nothing that is kept. Choose one of {known}.") from error


def _moment(text: str | None) -> int | None:
    try:
        read = parse_moment(text, Config().zone)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    return None if read is None else int(read.timestamp()) * 1_000_000


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000)
