"""Levels of minute, hour, day, month and year agree exactly with the events."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tarantula.core.database import Database
from tarantula.models import StaleLevel
from tarantula.streams.history import aggregate_levels, last_values, newest_events, series_of, store_events
from tests.support.histories import FAR, at, calculated, event, levels, new_series, stored, sum_up_all

DAY = 86_400_000_000


def test_levels_agree_with_the_events_in_any_order(database: Database) -> None:
    dice = Random(1)
    begin = at("2026-03-27 00:00")
    moments = sorted({begin + dice.randrange(10 * DAY) for _ in range(3000)})
    values = [(moment, f"{dice.choice('1 -2 33 0.1 -0.25 1000000000000000000000.5'.split())}") for moment in moments]
    with database.session() as session:
        series = new_series(session, "Europe/Lisbon")
    mixed = dice.sample(values, len(values))
    for place in range(0, len(mixed), 500):
        with database.session() as session:
            assert store_events(session, [event(series, *one) for one in mixed[place : place + 500]]) == 500
        if place % 1000:
            sum_up_all(database, most=dice.choice([7, 100, 1000]))
    sum_up_all(database)
    with database.reading() as session:
        assert stored(session, series) == values
        assert levels(session, series) == calculated(values, "Europe/Lisbon")
        assert session.query(StaleLevel).count() == 0


def test_a_duplicate_event_is_stored_once(database: Database) -> None:
    with database.session() as session:
        series = new_series(session)
        one = event(series, at("2026-06-12 22:00"), "3.5")
        assert store_events(session, [one, one]) == 1
        assert store_events(session, [one]) == 0
    sum_up_all(database)
    with database.session() as session:
        assert store_events(session, [one._replace(value="4")]) == 0
    sum_up_all(database)
    with database.reading() as session:
        assert levels(session, series) == calculated([(one.at, "3.5")])


def test_texts_have_a_count_a_first_a_last_and_a_mode(database: Database) -> None:
    begin = at("2026-06-12 22:00")
    values = [(begin + place * 1000, value) for place, value in enumerate(["sol", "chuva", "sol", "névoa \\ \"'"])]
    with database.session() as session:
        series = new_series(session)
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(database)
    with database.reading() as session:
        assert levels(session, series) == calculated(values)
        assert levels(session, series)["year", at("2026-01-01")][:6] == (4, None, None, None, "sol", "névoa \\ \"'")


def test_an_unfinished_bucket_waits(database: Database) -> None:
    now = at("2026-06-12 22:00:30")
    with database.session() as session:
        series = new_series(session)
        store_events(session, [event(series, now - 1, "1"), event(series, now - DAY, "2")])
    sum_up_all(database, now)
    with database.reading() as session:
        assert {(grain, count) for (grain, _), (count, *_) in levels(session, series).items()} == {
            ("minute", 1), ("hour", 1), ("day", 1)
        }  # fmt: skip
    sum_up_all(database, now + DAY)
    with database.reading() as session:
        assert Counter(grain for grain, _ in levels(session, series)) == {"minute": 2, "hour": 2, "day": 2}
    assert aggregate_levels(database, now=now + DAY) == 0


def test_too_many_distinct_values_have_no_counts(database: Database) -> None:
    begin = at("2026-06-12 22:00")
    values = [(begin + place * 1_000_000, str(place)) for place in range(230)]
    with database.session() as session:
        series = new_series(session)
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(database)
    with database.reading() as session:
        kept = levels(session, series)
    assert kept == calculated(values)
    assert kept["hour", begin][6] is None
    assert len(kept["minute", begin][6]) == 60


def test_series_are_created_once_and_have_a_last_value(database: Database) -> None:
    with database.session() as session:
        first = new_series(session)
        source = 1
        both = series_of(session, source, [("value", ""), ("value", "Lisboa’s 'row'")])
        assert both["value", ""] == first
        assert both == series_of(session, source, both)
        other = both["value", "Lisboa’s 'row'"]
        store_events(session, [event(first, at(f"2026-06-12 22:0{minute}"), str(minute)) for minute in range(9)])
        assert {series: one.value for series, one in last_values(session, [first, other]).items()} == {first: "8"}
        newest = newest_events(session, first, limit=2)
        assert [one.value for one in newest] == ["8", "7"]
        assert [one.value for one in newest_events(session, first, limit=2, before=newest[-1].at)] == ["6", "5"]
        some = newest_events(session, first, at("2026-06-12 22:02"), at("2026-06-12 22:04"))
        assert [one.value for one in some] == ["3", "2"]


@pytest.mark.parametrize("value", ["1e3", "9" * 1001, "NaN", "Infinity", "1_000", "١٢", "", "0x10", "1."])
def test_only_numbers_are_added(sqlite: Database, value: str) -> None:
    with sqlite.session() as session:
        series = new_series(session)
        store_events(session, [event(series, at("2026-06-12 22:00"), value)])
    sum_up_all(sqlite, FAR)
    with sqlite.reading() as session:
        total = levels(session, series)["year", at("2026-01-01")][1]
    assert total == ("1000" if value == "1e3" else None)
