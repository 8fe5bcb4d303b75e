"""Retention deletes only what is aggregated above, and records it."""

from __future__ import annotations

import logging
from random import Random

import pytest
from pydantic import ValidationError
from sqlalchemy import func, select

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Event, Forgotten, Level
from tarantula.streams.history import (
    apply_retention,
    last_values,
    newest_events,
    store_events,
    store_events_with_result,
)
from tarantula.streams.history.retention import retention_summary
from tarantula.streams.sources.retention import Grain, Retention, RetentionLimit
from tests.support.histories import at, calculated, event, levels, new_series, source_of, stored, sum_up_all

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
BEGIN = at("2026-03-01 00:00")


def hourly(days: int) -> list[tuple[int, str]]:
    dice = Random(9)
    return [(BEGIN + hour * HOUR + dice.randrange(HOUR), str(dice.randrange(1000))) for hour in range(days * 24)]


def test_old_rows_are_deleted_and_the_levels_above_stay_exact(database: Database) -> None:
    values = hourly(60)
    now = BEGIN + 60 * DAY
    with database.session() as session:
        series = new_series(session, retention="events=10d minutes=20d hours=30d")
        store_events(session, [event(series, *one) for one in values])
    assert apply_retention(database, now) == [], "nothing is summed up yet"
    sum_up_all(database, now)
    deleted = {one.grain: one for one in apply_retention(database, now)}
    assert deleted.keys() == {Grain.EVENT, Grain.MINUTE, Grain.HOUR}
    assert deleted[Grain.EVENT].rows == sum(moment < now - 10 * DAY for moment, _ in values)
    assert apply_retention(database, now) == []
    expected = calculated(values)
    with database.reading() as session:
        level_rows = levels(session, series)
        assert all(level_rows[place] == expected[place] for place in level_rows)
        assert sum(grain == "day" for grain, _ in level_rows) == 60
        assert min(moment for moment, _ in stored(session, series)) >= now - 10 * DAY
        sentences = " ".join(retention_summary(session, series).sentences)
    assert f"{deleted[Grain.EVENT].rows:,} events before" in sentences


def test_a_late_event_is_refused_and_logged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    values = hourly(30)
    now = BEGIN + 30 * DAY
    with database.session() as session:
        series = new_series(session, retention="events=10d")
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(database, now)
    apply_retention(database, now)
    late, good = event(series, BEGIN + 5, "1"), event(series, now - 3 * DAY, "2")
    with database.session() as session:
        assert store_events_with_result(session, [late, good]).late == [late]
    with caplog.at_level(logging.WARNING), database.session() as session:
        assert store_events(session, [late]) == 0
    assert "older than its retention" in caplog.text
    sum_up_all(database, now)
    expected = calculated([*values, (good.at, good.value)])
    with database.reading() as session:
        level_rows = levels(session, series)
        assert all(level_rows[place] == expected[place] for place in level_rows)
        assert session.get_one(Forgotten, (series, Grain.EVENT)).refused == 2
        assert "too old: 2 events." in " ".join(retention_summary(session, series).sentences)


def test_a_row_limit_deletes_the_oldest_whole_buckets_and_never_the_newest_event(database: Database) -> None:
    values = hourly(20)
    now = BEGIN + 20 * DAY
    with database.session() as session:
        series = new_series(session, retention="events=50rows minutes=1y,100rows")
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(database, now)
    apply_retention(database, now + 700 * DAY)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Event)) == 50
        minutes = session.scalar(select(func.count()).select_from(Level).where(Level.grain == Grain.MINUTE))
        assert minutes == 1, "minutes are older than a year, but for the last"
        assert last_values(session, [series])[series].value == values[-1][1]
    with database.session() as session:
        session.execute(select(Event))
        assert len(newest_events(session, series, limit=1000)) == 50


def test_large_deletions_take_several_transactions(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarantula.streams.history.retention.ROWS_PER_TRANSACTION", 7)
    values = [(BEGIN + place * SECOND, str(place)) for place in range(300)] + [(BEGIN + 9 * DAY, "1")]
    with sqlite.session() as session:
        series = new_series(session, retention="events=1d minutes=1d")
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(sqlite)
    assert {(one.grain, one.rows) for one in apply_retention(sqlite, BEGIN + 9 * DAY)} == {
        (Grain.EVENT, 300),
        (Grain.MINUTE, 5),
    }


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", "events=1y minutes=1y hours=forever days=forever months=forever years=forever"),
        ("events=30d minutes=1y", "events=30d minutes=1y hours=forever days=forever months=forever years=forever"),
        ("Events=90d,1000rows; minutes=forever", "events=90d,1000rows minutes=forever hours=forever days=forever "
         "months=forever years=forever"),
        ("events=36h minutes=2w days=10y", "events=1d12h minutes=14d hours=forever days=forever"),
    ],
)  # fmt: skip
def test_retention_is_parsed(text: str, written: str) -> None:
    if "days=10y" in text:
        with pytest.raises(ValidationError, match="Days would be deleted sooner than hours"):
            Retention.model_validate(text)
        return
    read = Retention.model_validate(text)
    assert str(read) == written
    assert Retention.model_validate(read.model_dump(mode="json")) == read
    assert Retention.model_validate(str(read)) == read


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("event=30d", "Did you mean events"),
        ("events", "is not a retention setting"),
        ("events=", "is not a retention limit"),
        ("events=-3d", "is not a retention limit"),
        ("events=0rows", "at least one row"),
        ("events=soon", "'soon' is not a retention limit"),
        ("events=1y minutes=30d", "Minutes would be deleted sooner than events"),
    ],
)
def test_invalid_retention_is_refused_with_a_sentence(text: str, why: str) -> None:
    with pytest.raises(TarantulaError, match=why):
        source_of(retention=text)


def test_limits_are_formatted() -> None:
    read = Retention(events=RetentionLimit(30 * 86_400, 1000), minutes=RetentionLimit(rows=5))
    assert read.sentence.startswith("events for 30d and at most the last 1,000; minutes the last 5; hours for good")
