"""A dry run judges past events as they would have been judged when they came, and notes what it cannot know."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import delete, select

from tarantula.core.database import Database
from tarantula.models import Alert, Event, Forgotten, Series, Source
from tarantula.streams.alerts import dry_run
from tarantula.streams.alerts import registry as alerts
from tarantula.streams.alerts.config import read_alert
from tarantula.streams.alerts.replay import DryRun, dry_run_config
from tarantula.streams.history import moment_of
from tarantula.streams.sources.retention import Grain
from tests.support.alerts import BEGIN, SECOND, came, come, firings, new_alert, new_source, wait

END = 1000


def tried(database: Database, number: int, begin: float = -10, end: float = END) -> DryRun:
    with database.reading() as session:
        alert = session.get_one(Alert, number)
        return dry_run(session, alert, BEGIN + round(begin * SECOND), BEGIN + round(end * SECOND))


def test_a_dry_run_agrees_with_the_stored_firings(database: Database) -> None:
    source = new_source(database)
    conditions = ("wind > 3", "wind changed by 50%", "wind is record high", "silent for 50s", "wind rose by 3 in 10s")
    numbers = [new_alert(database, condition, pause="2s") for condition in conditions]
    for second, value in enumerate([1, 5, 2, 4, 3, 9, 1, 2, 10, 4]):
        come(database, source, second, wind=value)
    wait(database, END - 1)
    for number in numbers:
        fired = [(moment_of(one.at), one.why) for one in firings(database) if one.alert_id == number]
        done = tried(database, number)
        assert [(one.at, one.why) for one in done.fired] == fired
        assert fired
        assert (done.count, done.moments, done.notes) == (len(fired), 10, [])


def test_a_period_starts_with_the_state_at_its_beginning(database: Database) -> None:
    source = new_source(database, keys="points")
    for second in range(10):
        came(database, source, second, {("points", "Porto"): second % 4, ("points", "Braga"): 5 - second % 4})
    number = new_alert(database, "points > 2", second=20)
    fired = [
        (one.row, (int(one.at.timestamp()) * SECOND - BEGIN) // SECOND) for one in tried(database, number, 3.5, 8).fired
    ]
    assert fired == [("Porto", 7), ("Braga", 4)] or sorted(fired) == [("Braga", 4), ("Porto", 7)]
    assert tried(database, number, 100, 200).notes == ["There are no events in this period."]


def test_an_alert_that_is_not_stored_can_be_tried(sqlite: Database) -> None:
    source = new_source(sqlite)
    for second, value in enumerate([1, 5, 1, 5]):
        come(sqlite, source, second, wind=value)
    with sqlite.reading() as session:
        stored = session.get_one(Source, source)
        config = alerts.with_typed_literals(session, stored, read_alert({"condition": "wind > 3"}))
        done = dry_run_config(session, stored, config, BEGIN, BEGIN + END * SECOND)
    assert (done.count, firings(sqlite)) == (2, [])


def test_deleted_events_are_noted(database: Database) -> None:
    source = new_source(database)
    for second, value in enumerate([1, 5, 1, 5]):
        come(database, source, second, wind=value)
    number = new_alert(database, "wind > 3", second=10)
    with database.session() as session:
        series = session.scalars(select(Series.id)).one()
        limit = BEGIN + 2 * SECOND
        session.execute(delete(Event).where(Event.series_id == series, Event.at < limit))
        row = {"series_id": series, "grain": int(Grain.EVENT), "before": limit, "rows": 2, "at": datetime.now(UTC)}
        extra = {"refused": 0} if "refused" in Forgotten.__table__.columns else {}
        session.add(Forgotten(**row, **extra))
    done = tried(database, number)
    assert done.count == 1
    day = f"{moment_of(limit):%Y-%m-%d %H:%M}"
    assert done.notes == [f"Events before {day} (UTC) have been deleted: earlier firings are unknown."]
