"""Property tests: whatever arrives in whatever order, is deleted, or stops halfway, levels agree with the events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as draw

from tarantula.core.database import Database
from tarantula.streams.history import aggregate_levels, apply_retention, chart_points, store_events_with_result
from tarantula.streams.history.levels import BucketCalendar
from tarantula.streams.ingest.type_change import edit_source
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources import registry
from tarantula.streams.sources.retention import Grain
from tests.support.histories import at, calculated, event, levels, new_series, sum_up_all, written

SECOND = 1_000_000
DAY = 86_400 * SECOND
BEGIN = at("2026-03-20 00:00")
LENGTH = 60 * DAY
ZONES = ["UTC", "Europe/Lisbon", "Asia/Kolkata", "America/St_Johns"]

moments = draw.one_of(
    draw.integers(0, LENGTH - 1),
    draw.integers(0, 3 * 3600 * SECOND),
    draw.integers(0, 40).map(lambda n: n * 30 * SECOND),
).map(lambda offset: BEGIN + offset)
numbers = draw.decimals(-(10**30), 10**30, allow_nan=False, places=6).map(lambda number: f"{number:f}")
values = draw.one_of(draw.sampled_from(["1", "-2.50", "0.1", "0.2"]), numbers, draw.sampled_from(["1", "sol"]))
retentions = draw.sampled_from(
    [
        "",
        "events=1d minutes=3d hours=9d",
        "events=3rows",
        "events=1d,2rows minutes=2rows hours=1rows",
        "events=5d minutes=5d hours=5d days=5d",
    ]
)
actions = draw.lists(
    draw.one_of(
        draw.lists(draw.tuples(moments, values), min_size=1, max_size=25),
        draw.tuples(draw.just("sum"), draw.integers(1, 40), draw.integers(0, 3 * LENGTH)),
        draw.tuples(draw.just("forget"), draw.integers(0, 2 * LENGTH), retentions),
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture
def numbered() -> Iterator[int]:
    return iter(range(10**6))


@settings(
    max_examples=400 if os.environ.get("TARANTULA_FULL_SIZE") else 25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(actions, draw.sampled_from(ZONES), draw.tuples(moments, moments), draw.integers(1, 30))
def test_levels_and_windows_agree_with_the_events(
    sqlite: Database, numbered: Iterator[int], done: list[object], zone: str, window: tuple[int, int], most: int
) -> None:
    name = f"source.n{next(numbered)}"
    with sqlite.session() as session:
        series = new_series(session, zone, name)
    known = dict[int, str]()
    for action in done:
        match action:
            case ("sum", int(some), int(later)):
                aggregate_levels(sqlite, some, BEGIN + later)
            case ("forget", int(later), str(text)):
                with sqlite.session() as session:
                    edit_source(session, name, {"retention": text})
                apply_retention(sqlite, BEGIN + later)
                with sqlite.session() as session:
                    edit_source(session, name, {"retention": "events=forever minutes=forever"})
            case list():
                with sqlite.session() as session:
                    new = [event(series, moment, value) for moment, value in action]
                    late = store_events_with_result(session, new).late
                for one in new:
                    if one not in late:
                        known.setdefault(one.at, one.value)
    check_window(sqlite, series, known, window, most)
    sum_up_all(sqlite)
    expected = calculated(known.items(), zone)
    with sqlite.reading() as session:
        level_rows = levels(session, series)
    assert level_rows == {place: expected[place] for place in level_rows}
    check_window(sqlite, series, known, window, most)
    with sqlite.session() as session:
        registry.remove(session, name)


def check_window(database: Database, series: int, known: dict[int, str], window: tuple[int, int], most: int) -> None:
    begin, end = min(window), max(window) + 1
    with database.reading() as session:
        chart = chart_points(session, series, begin, end, most)
    assert len(chart.points) <= most
    if not chart.is_exact:
        return
    inside = [value for moment, value in sorted(known.items()) if begin <= moment < end]
    assert sum(point.summary.count for point in chart.points) == len(inside)
    if inside:
        assert (chart.points[0].summary.first, chart.points[-1].summary.last) == (inside[0], inside[-1])
    if "sol" not in inside:
        total = sum((Fraction(point.summary.value(Aggregation.SUM) or "x") for point in chart.points), Fraction(0))
        assert written(total) == written(sum(map(Fraction, inside), Fraction(0)))


@settings(max_examples=300)
@given(
    draw.sampled_from(sorted(available_timezones())),
    draw.datetimes(datetime(1900, 1, 1), datetime(2037, 12, 31)),  # noqa: DTZ001
    draw.integers(-200, 200),
)
def test_buckets_of_every_zone_consist_of_whole_finer_buckets(zone: str, moment: datetime, minutes: int) -> None:
    calendar = BucketCalendar(ZoneInfo(zone))
    where = int((moment.replace(tzinfo=UTC) + timedelta(minutes=minutes)).timestamp()) * SECOND
    below = where
    for grain in list(Grain)[1:]:
        start, end = calendar.start_of(where, grain), calendar.end_of(calendar.start_of(where, grain), grain)
        assert start <= where < end
        assert calendar.start_of(start, grain) == start == calendar.start_of(end - 1, grain)
        assert calendar.start_of(end, grain) == end
        assert start <= below
        assert calendar.start_of(below, grain) == start
        below = start


@pytest.mark.parametrize(
    ("zone", "moment", "grain", "hours"),
    [
        ("Europe/Lisbon", "2026-03-29 12:00", Grain.DAY, 23),
        ("Europe/Lisbon", "2026-10-25 12:00", Grain.DAY, 25),
        ("Europe/Lisbon", "2026-06-12 22:00", Grain.DAY, 24),
        ("Atlantic/Azores", "2026-10-25 00:30", Grain.DAY, 25),
        ("America/St_Johns", "2010-11-07 12:00", Grain.DAY, 25),
        ("Pacific/Apia", "2011-12-29 12:00", Grain.DAY, 24),
        ("Asia/Kolkata", "2026-06-12 22:00", Grain.MONTH, 720),
        ("Australia/Lord_Howe", "2026-04-05 12:00", Grain.DAY, 24.5),
    ],
)
def test_days_follow_local_time(zone: str, moment: str, grain: Grain, hours: float) -> None:
    calendar = BucketCalendar(ZoneInfo(zone))
    start = calendar.start_of(at(moment, zone), grain)
    assert (calendar.local(start).hour, calendar.local(start).minute) == (0, 0)
    assert (calendar.end_of(start, grain) - start) / (3600 * SECOND) == hours
