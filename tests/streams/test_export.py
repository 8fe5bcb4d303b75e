"""Values are exported as they are stored, to the last digit, whatever characters a page has."""

from __future__ import annotations

import csv
import json
import tracemalloc
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from lxml import etree
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from tarantula.accounts.roles import Owner
from tarantula.cli.streams.history import register
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.streams.export import (
    StreamFormat,
    atom_feed,
    csv_chunks,
    export_chunks,
    json_chunks,
    last_numbers,
    parquet_chunks,
    prometheus_text,
    select_export,
)
from tarantula.streams.history import apply_retention, series_of, store_events
from tarantula.streams.history.retention import sparkline
from tarantula.streams.sources import registry
from tarantula.streams.sources.retention import Grain
from tests.support.histories import at, calculated, event, new_series, source_of, sum_up_all

SECOND = 1_000_000
BEGIN = at("2026-06-12 21:00")
AWFUL = 'É "quoted", <b>&amp;\n\\ \x0b =1+1'


def fill(database: Database, number: int = 10, **values: Any) -> int:
    with database.session() as session:
        series = new_series(session, **values)
        rows = series_of(session, 1, [("value", ""), ("note", AWFUL)])
        store_events(session, [event(series, BEGIN + place * SECOND, f"{place}.10") for place in range(number)])
        store_events(
            session, [event(rows["note", AWFUL], BEGIN, "=cmd()"), event(rows["note", AWFUL], BEGIN + 1, AWFUL)]
        )
    return series


def test_csv_json_and_parquet_agree(database: Database) -> None:
    fill(database)
    parquet = pytest.importorskip("pyarrow.parquet")
    with database.reading() as session:
        what = select_export(session, registry.get(session, "weather.lisboa"))
        lines = list(csv.DictReader(StringIO(b"".join(csv_chunks(database.reading, what)).decode(), newline="")))
        objects = json.loads(b"".join(json_chunks(database.reading, what)))
        table = parquet.read_table(BytesIO(b"".join(parquet_chunks(database.reading, what)))).to_pylist()
    assert [one["value"] for one in objects] == [f"{place}.10" for place in range(10)] + ["=cmd()", AWFUL]
    assert [one["value"] for one in lines] == [f"{place}.10" for place in range(10)] + ["'=cmd()", AWFUL]
    assert {one["row"] for one in objects} == {"", AWFUL} == {one["row"] for one in lines}
    assert [one | {"at": one["at"].isoformat()} for one in table] == objects


def test_a_level_is_exported_whether_it_was_aggregated_or_not(database: Database) -> None:
    series = fill(database, 200)
    values = [(BEGIN + place * SECOND, f"{place}.10") for place in range(200)]
    expected = {place: row for place, row in calculated(values).items() if place[0] == "minute"}
    for _ in range(2):
        with database.reading() as session:
            source = registry.get(session, "weather.lisboa")
            what = select_export(session, source, field="value", row="", grain=Grain.MINUTE)
            rows = json.loads(b"".join(json_chunks(database.reading, what)))
        found = {
            ("minute", at(row["start"])): (
                row["count"],
                row["sum"],
                row["minimum"],
                row["maximum"],
                row["first"],
                row["last"],
            )
            for row in rows
        }
        assert found == {place: row[:6] for place, row in expected.items()}
        assert rows[0]["mode"] == "0.10"
        sum_up_all(database)
    assert series


def test_a_large_export_needs_little_memory(sqlite: Database) -> None:
    with sqlite.session() as session:
        series = new_series(session)
        store_events(session, [event(series, BEGIN + place * SECOND, str(place)) for place in range(15_000)])
    with sqlite.reading() as session:
        source = registry.get(session, "weather.lisboa")
        what = select_export(session, source)
        tracemalloc.start()
        size = sum(map(len, export_chunks(sqlite.reading, source, what, StreamFormat.JSON)))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert size > 1_500_000
    assert most < 1_500_000


def test_a_feed_is_well_formed_whatever_a_page_contains(sqlite: Database) -> None:
    fill(sqlite, title=f"Price {AWFUL}", description=AWFUL)
    with sqlite.reading() as session:
        source = registry.get(session, "weather.lisboa")
        feed = atom_feed(session, source, select_export(session, source), "http://example.org/?a=1&b=2", most=5)
    tree = etree.fromstring(feed)
    names = {"a": "http://www.w3.org/2005/Atom"}
    entries = tree.xpath("a:entry", namespaces=names)
    assert [one.findtext("a:title", namespaces=names) for one in entries] == [
        f"value: {place}.10" for place in (9, 8, 7, 6, 5)
    ]
    assert len({one.findtext("a:id", namespaces=names) for one in entries}) == 5
    assert tree.findtext("a:updated", namespaces=names) == "2026-06-12T21:00:09+00:00"
    assert tree.find("a:link", names).get("href") == "http://example.org/?a=1&b=2"


def test_prometheus_gets_the_latest_values_of_public_sources(sqlite: Database) -> None:
    fill(sqlite)
    with sqlite.session() as session:
        rows = series_of(session, 1, [("value", AWFUL)])
        store_events(session, [event(rows["value", AWFUL], BEGIN, "-3.5")])
        private = registry.add(session, source_of("user.ana.own", private=True), Owner("ana"))
        own = series_of(session, private.id, [("value", "")])
        store_events(session, [event(own["value", ""], BEGIN, "1")])
        written = prometheus_text(last_numbers(session)).decode()
    (family,) = text_string_to_metric_families(written)
    samples = {tuple(sample.labels.values()): sample.value for sample in family.samples}
    assert samples == {("weather.lisboa", "value", ""): 9.1, ("weather.lisboa", "value", AWFUL): -3.5}


def test_commands_write_a_feed_and_prometheus_text_for_events_only(
    sqlite: Database, stream: typer.Typer, tmp_path: Path
) -> None:
    fill(sqlite, 3, private=True)
    runner, file = CliRunner(), tmp_path / "lisboa.atom"
    assert runner.invoke(stream, ["export", "weather.lisboa", "--format", "atom", "-o", str(file)]).exit_code == 0
    feed = etree.fromstring(file.read_bytes())
    assert [len(feed.findall(f"{{http://www.w3.org/2005/Atom}}{name}")) for name in ("entry", "link")] == [5, 0]
    asked = ["export", "weather.lisboa", "--field", "value", "--format", "prometheus"]
    (family,) = text_string_to_metric_families(runner.invoke(stream, asked).stdout)
    assert [sample.value for sample in family.samples] == [2.1]
    summed_up = runner.invoke(stream, [*asked, "--grain", "hour"])
    assert isinstance(summed_up.exception, TarantulaError)
    assert "Levels can be exported as csv, json, parquet" in str(summed_up.exception)


@pytest.fixture
def stream() -> typer.Typer:
    app = typer.Typer()
    register(app)
    return app


def test_commands_show_events_history_and_export(sqlite: Database, stream: typer.Typer, tmp_path: Path) -> None:
    fill(sqlite, 5, retention="events=1d")
    runner = CliRunner()
    shown = runner.invoke(stream, ["events", "weather.lisboa", "--field", "value", "--row", "", "--json"])
    assert [one["value"] for one in json.loads(shown.stdout)] == ["4.10", "3.10", "2.10", "1.10", "0.10"]
    some = ["--begin", "2026-06-12T21:00:02+00:00", "--end", "2026-06-12T21:00:04+00:00", "--field", "value"]
    assert "3.10" in runner.invoke(stream, ["events", "weather.lisboa", *some]).stdout
    assert len(runner.invoke(stream, ["events", "weather.lisboa", *some]).stdout.splitlines()) == 3
    with sqlite.session() as session:
        store_events(session, [event(1, BEGIN + 900 * 86_400 * SECOND, "7")])
    sum_up_all(sqlite)
    apply_retention(sqlite, BEGIN + 1000 * 86_400 * SECOND)
    window = ["--begin", "2026-06-12", "--end", "2030-01-01"]
    history = runner.invoke(stream, ["history", "weather.lisboa", *window]).stdout
    assert "events for 1d" in history
    assert "5 events before 2028-11-28" in history
    assert "█" in history
    read = json.loads(runner.invoke(stream, ["history", "weather.lisboa", *window, "--json"]).stdout)
    assert read["series"][0]["kept"]["forgotten"]["events"]["rows"] == 5
    assert sum(point["count"] for point in read["series"][0]["points"]) == 6
    file = tmp_path / "out.csv"
    assert runner.invoke(stream, ["export", "weather.lisboa", "--grain", "year", "-o", str(file)]).exit_code == 0
    assert [row["count"] for row in csv.DictReader(StringIO(file.read_text()))] == ["5", "1", "2"]
    assert len(runner.invoke(stream, ["export", "weather.lisboa", "--format", "json"]).stdout.splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["events", "weather.lisboa", "--field", "valeu"], "no field 'valeu'. Did you mean value"),
        (["events", "weather.lisbon"], "no source"),
        (["events", "weather.lisboa", "--begin", "yesterday"], "not a date"),
        (["export", "weather.lisboa", "--grain", "week"], "is not a level"),
        (["export", "weather.lisboa", "--output", "/nowhere/at/all"], "cannot be written"),
        (["history", "weather.lisboa", "--begin", "2026-06-12", "--end", "2025-01-01"], "ends before it begins"),
    ],
)
def test_invalid_requests_are_refused_with_a_sentence(
    sqlite: Database, stream: typer.Typer, arguments: list[str], why: str
) -> None:
    fill(sqlite, 1)
    outcome = CliRunner().invoke(stream, arguments)
    assert isinstance(outcome.exception, TarantulaError)
    assert why in str(outcome.exception)


def test_a_sparkline_has_gaps_and_takes_any_magnitude() -> None:
    assert sparkline([0, None, 7, float("inf")]) == "▁ █ "
    assert sparkline([3, 3]) == "▁▁"
    assert sparkline([]) == "" == sparkline([None])
