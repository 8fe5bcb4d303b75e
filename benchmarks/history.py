"""A month at one value a second: time to build the levels, time to read any window, and correctness.

pyarrow calculates the expected levels from the raw events, in decimals, without code of Tarântula.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from statistics import quantiles
from typing import Any

from sqlalchemy import select, text

from benchmarks.documents import on_postgresql, on_sqlite
from tarantula.core.database import Database
from tarantula.core.process import collect_and_freeze
from tarantula.models import Level, Series
from tarantula.store.bulk import chunks
from tarantula.streams.history import NewEvent, aggregate_levels, chart_points, series_of, store_events
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source

SECOND = 1_000_000
BEGIN = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * SECOND
EVENTS = 30 * 86_400
DRAWN = 300
"""Number of windows, of all sizes and at random places."""
WAYS = [
    *(("value", way) for way in ("count", "sum", "min", "max")),
    *(("text", way) for way in ("first", "last", "count_distinct")),
]
GRAINS = {1: "minute", 2: "hour", 3: "day", 4: "month", 5: "year"}


def measure(events: int = EVENTS) -> dict[str, Any]:
    """Build the month on both databases and read windows of it."""
    return {"events": events} | {
        name: _measured(opened, events) for name, opened in (("sqlite", on_sqlite()), ("postgresql", on_postgresql()))
    }


def _measured(opened: Any, events: int) -> dict[str, Any]:
    with opened as database:
        series = new_series(database)
        stored = _timed(lambda: fill(database, series, events))
        summed = _timed(lambda: sum_up_all(database))
        collect_and_freeze()
        know_sizes(database)
        drawing = draw(database, series, events)
        wrong = compare(database, series)
    load = round(os.getloadavg()[0], 1)
    return {"stored_s": stored, "summed_s": summed, **drawing, "rows_that_differ": wrong, "load": load}


def values(events: int) -> Iterator[tuple[int, str]]:
    """Yield a random walk of a price in cents, once a second."""
    dice, cents = Random(1), 10_000
    for second in range(events):
        cents += dice.randint(-3, 3)
        yield BEGIN + second * SECOND + dice.randrange(SECOND), f"{cents // 100}.{cents % 100:02d}"


def new_series(database: Database) -> int:
    with database.session() as session:
        source = registry.add(session, parse_source({"name": "price", "url": "http://example.org/", "adapter": "page"}))
        series = series_of(session, source.id, [("value", "")])["value", ""]
        session.get_one(Series, series).zone = "UTC"
    return series


def fill(database: Database, series: int, events: int) -> None:
    rows = (NewEvent(series, at, value, float(value), None) for at, value in values(events))
    for some in chunks(rows, 20_000):
        with database.session() as session:
            store_events(session, some)


def sum_up_all(database: Database) -> None:
    while aggregate_levels(database, 5000, BEGIN + 3 * 365 * 86_400 * SECOND):
        pass


def know_sizes(database: Database) -> None:
    """Analyze the tables of PostgreSQL, as autovacuum does a minute after so many inserts."""
    if database.engine.dialect.name == "postgresql":
        with database.engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE event, level, stale_level")


def draw(database: Database, series: int, events: int, windows: int = DRAWN) -> dict[str, float]:
    dice, length = Random(2), events * SECOND
    times, own = list[float](), list[float]()
    with database.reading() as session:
        for _ in range(windows):
            size = int(10 ** dice.uniform(6, 1 + len(str(length))))
            begin = BEGIN + dice.randrange(-size, length)
            most = dice.choice([50, 200, 500, 1000])
            began, own_began = time.perf_counter(), time.thread_time()
            chart_points(session, series, begin, begin + size, most)
            times.append((time.perf_counter() - began) * 1000)
            own.append((time.thread_time() - own_began) * 1000)
    return {
        "draw_median_ms": round(sorted(times)[len(times) // 2], 1),
        "draw_p95_ms": round(quantiles(times, n=20)[-1], 1),
        "draw_worst_ms": round(max(times), 1),
        "draw_cpu_p95_ms": round(quantiles(own, n=20)[-1], 1),
        "draw_cpu_worst_ms": round(max(own), 1),
    }


def compare(database: Database, series: int) -> int:
    """Return the number of level rows that differ from those pyarrow computes from the events, in UTC."""
    with database.reading() as session:
        moments, texts = list[int](), list[str]()
        chosen = text("SELECT at, value FROM event WHERE series_id = :series ORDER BY at")
        for at, value in session.execute(chosen, {"series": series}):
            moments.append(at)
            texts.append(value)
        kept = session.scalars(select(Level).where(Level.series_id == series)).all()
    expected = _by_arrow(moments, texts)
    found = {(GRAINS[row.grain], row.start): row for row in kept}
    wrong = len(expected.keys() ^ found.keys())
    return wrong + sum(_differs(found[place], expected[place]) for place in expected.keys() & found.keys())


def _by_arrow(moments: Sequence[int], texts: Sequence[str]) -> dict[tuple[str, int], tuple[Any, ...]]:
    import pyarrow as arrow
    from pyarrow import compute

    at = arrow.array(moments, arrow.timestamp("us", "UTC"))
    value = compute.cast(arrow.array(texts), arrow.decimal128(38, 10))
    expected = dict[tuple[str, int], tuple[Any, ...]]()
    for grain in GRAINS.values():
        start = compute.cast(compute.floor_temporal(at, unit=grain), arrow.int64())
        table = arrow.table({"start": start, "value": value, "text": texts}).sort_by("start")
        ways = [
            ("value", "count"),
            ("value", "sum"),
            ("value", "min"),
            ("value", "max"),
            ("text", "first"),
            ("text", "last"),
        ]
        grouped = table.group_by("start", use_threads=False).aggregate([*ways, ("text", "count_distinct")])
        for row in zip(*(grouped[name].to_pylist() for name in grouped.column_names), strict=True):
            by_name = dict(zip(grouped.column_names, row, strict=True))
            expected[grain, by_name["start"]] = tuple(by_name[f"{column}_{way}"] for column, way in WAYS)
    return expected


def _differs(row: Level, expected: tuple[Any, ...]) -> bool:
    count, total, least, most, first, last, different = expected
    numbers = [None if one is None else Decimal(one) for one in (row.sum, row.minimum, row.maximum)]
    counts = {} if row.counts is None else json.loads(zlib.decompress(row.counts))
    is_counted = not counts if different > 200 else len(counts) == different and sum(counts.values()) == count
    return [row.count, *numbers, row.first, row.last] != [count, total, least, most, first, last] or not is_counted


def _timed(action: Any) -> float:
    began = time.perf_counter()
    action()
    return round(time.perf_counter() - began, 1)
