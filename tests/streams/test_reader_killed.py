"""The reader is killed at any moment, also while aggregating: levels are exact afterwards, no event is stored twice."""

from __future__ import annotations

import os
import random
import time

from sqlalchemy import func, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Event, Series, StaleLevel
from tarantula.streams.history import series_of, store_events
from tarantula.streams.sources.retention import Grain
from tests.sites.server import Route, Web
from tests.support.crawls import SCRAPY, start, wait_until
from tests.support.histories import calculated, event, levels, stored, sum_up_all
from tests.support.sources import counting, follow

FULL = bool(os.environ.get("TARANTULA_FULL_SIZE"))
KILLS = 40 if FULL else 3
SOURCES = 4
MINUTE = 60_000_000
PAST = 1_700_000_000_000_000 // MINUTE * MINUTE
"""Start of the events that still have to be aggregated."""
FOR_GOOD = "events=forever minutes=forever"
MINUTES = 150_000 if FULL else 10_000


def fill(database: Database, source: int) -> int:
    """Store a history without levels, one value a minute, so that aggregation runs all the time."""
    with database.session() as session:
        series = series_of(session, source, [("value", "")])["value", ""]
        store_events(session, [event(series, PAST + minute * MINUTE, str(minute % 97)) for minute in range(MINUTES)])
    return series


def counted(database: Database, series: int) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).where(Event.series_id > series)) or 0


def left(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(StaleLevel).where(StaleLevel.grain == Grain.MINUTE)) or 0


def test_killed_repeatedly_levels_are_exact_and_no_event_is_stored_twice(
    database: Database, database_config: Config
) -> None:
    dice, still_to_do = random.Random(7), list[int]()
    routes: dict[str, Route] = {f"/{number}": counting() for number in range(SOURCES)}
    with Web(routes, [f"127.0.0.{number + 1}" for number in range(SOURCES)]) as web:
        past = fill(database, follow(database, "test.past", url=web.url("/none"), paused=True, retention=FOR_GOOD))
        for number in range(SOURCES):
            url = web.url(f"/{number}", f"127.0.0.{number + 1}")
            follow(database, f"test.{number}", url=url, interval=1, robots=False)
        for _ in range(KILLS):
            process = start([SCRAPY, "crawl", "streams"])
            enough = counted(database, past) + 2 * SOURCES
            wait_until(lambda enough=enough: counted(database, past) > enough, process)  # type: ignore[misc]
            time.sleep(dice.uniform(0, 1))
            still_to_do.append(left(database))
            process.kill()
            assert "Traceback" not in process.communicate()[1]
    assert MINUTES > still_to_do[0] >= still_to_do[-1] > 0, "all the time there was something to sum up"
    sum_up_all(database)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(StaleLevel)) == 0
        for series in session.scalars(select(Series)).all():
            events = stored(session, series.id)
            assert levels(session, series.id) == calculated(events, series.zone)
            if series.id != past:
                values = [int(value) for _, value in events]
                assert values == sorted(set(values)), "no page made two events"
                # Readings in progress at a kill are lost; nothing else is.
                assert len(web.visits_to(f"/{series.source_id - 2}")) - len(values) <= KILLS
