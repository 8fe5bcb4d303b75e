"""The judging process is killed with ``kill -9``: nothing fires twice, and nothing is lost."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Event
from tarantula.streams.alerts.condition_text import parse_rule
from tarantula.streams.alerts.evaluate import SeenValue, WatchMemory
from tarantula.streams.alerts.watch import AlertTerms, AlertWatch
from tests.support.alert_writer import value
from tests.support.alerts import BEGIN, SECOND, firings, new_alert, new_source
from tests.support.crawls import start

KILLS = 4
HOLD: dict[str, Any] = {"hold": "1s"}
CONDITIONS: dict[str, dict[str, Any]] = {
    "wind > 5": {},
    "wind is record high": {},
    "wind > 3 and not wind > 8": HOLD,
    "wind changed": {},
}


def expected(condition: str, hold: int, count: int) -> list[int]:
    """Return when the alert fires if no process is killed."""
    meanings = {("wind", text): SeenValue(text, Decimal(text)) for text in "358"}
    watch = AlertWatch(AlertTerms(parse_rule(condition), meanings, hold=hold * SECOND), WatchMemory(since=0))
    fired = list[int]()
    for number in range(count):
        seen = SeenValue(str(value(number)), Decimal(value(number)))
        fired += [one.at // SECOND for one in watch.judge_values(number * SECOND, {("", "wind"): seen})]
        fired += [one.at // SECOND for one in watch.pass_time(number * SECOND + SECOND // 2)]
    return fired


def test_killed_repeatedly_each_alert_fires_once(database: Database, database_config: Config) -> None:
    source = new_source(database)
    alerts = {new_alert(database, condition, **terms): condition for condition, terms in CONDITIONS.items()}
    for kill in range(KILLS):
        process = start([sys.executable, "-m", "tests.support.alert_writer", str(source)])
        assert process.stdout is not None
        for _ in range(5 + 7 * kill):
            assert process.stdout.readline(), process.communicate()[1]
        process.kill()
        process.communicate()
    with database.reading() as session:
        moments = list(session.scalars(select(Event.at).order_by(Event.at)))
    assert [(at - BEGIN) // SECOND for at in moments] == list(range(len(moments)))
    assert len(moments) >= sum(5 + 7 * kill for kill in range(KILLS))
    for alert, condition in alerts.items():
        fired = [(one.at - BEGIN) // SECOND for one in firings(database) if one.alert_id == alert]
        expected_firings = expected(condition, 1 if CONDITIONS[condition] else 0, len(moments))
        # The last process may have been killed before it judged the passing of time.
        assert fired == expected_firings[: len(fired)]
        assert len(expected_firings) - len(fired) <= bool(CONDITIONS[condition])
        assert len(fired) == len(set(fired))
        assert fired
