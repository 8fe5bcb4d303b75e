"""Killed while storing, aggregating and deleting: levels are exact afterwards, and no event is stored twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

from sqlalchemy import func, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Event, Forgotten, StaleLevel
from tarantula.streams.history import apply_retention
from tests.support.histories import FAR, calculated, levels, new_series, sum_up_all
from tests.support.waits import TIMEOUT_SECONDS, eventually

KILLS = 40 if os.environ.get("TARANTULA_FULL_SIZE") else 4
BEGIN = 1_767_225_600_000_000
STEP = 7_300_000
RETENTION = "events=1h minutes=6h"

# Every value follows from its index, so a new process continues where the database ends, and stores some events again.
CHILD = """
import sys
from sqlalchemy import func, select
from tarantula.store.database import open_database
from tarantula.models import Event
from tarantula.streams.history import aggregate_levels, apply_retention, store_events
from tests.support.histories import event
from tests.streams.test_history_killed import BEGIN, STEP, value_of
series = int(sys.argv[1])
with open_database() as database:
    with database.reading() as session:
        last = session.scalar(select(func.max(Event.at)).where(Event.series_id == series))
    number = 0 if last is None else (last - BEGIN) // STEP - 10
    print("ready", flush=True)
    while True:
        with database.session() as session:
            some = range(max(0, number), number + 40)
            store_events(session, [event(series, BEGIN + one * STEP, value_of(one)) for one in some])
        number += 40
        now = BEGIN + number * STEP
        aggregate_levels(database, 5, now)
        if number % 120 < 40:
            aggregate_levels(database, 50, now)
            apply_retention(database, now)
"""


def value_of(number: int) -> str:
    return f"{(number * 7919) % 1000 / 100}"


def test_killed_repeatedly_levels_are_exact(database: Database, database_config: Config) -> None:
    dice = random.Random(11)
    with database.session() as session:
        series = new_series(session, "Europe/Lisbon", retention=RETENTION)
    seen = 0
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(series)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.communicate(timeout=TIMEOUT_SECONDS)
        wait_for_more(database, series, seen, child)
        time.sleep(dice.uniform(0, 0.3))
        assert child.poll() is None, child.communicate()
        child.kill()
        child.communicate()
        seen = newest(database, series)
    count = (newest(database, series) - BEGIN) // STEP + 1
    sum_up_all(database, FAR)
    apply_retention(database, BEGIN + count * STEP)
    expected = calculated([(BEGIN + one * STEP, value_of(one)) for one in range(count)], "Europe/Lisbon")
    with database.reading() as session:
        level_rows = levels(session, series)
        assert level_rows == {place: expected[place] for place in level_rows}
        assert {place for place in expected if place[0] in ("hour", "day", "month", "year")} <= level_rows.keys()
        assert session.scalar(select(func.count()).select_from(StaleLevel)) == 0
        forgotten = session.get(Forgotten, (series, 0))
        events = session.scalar(select(func.count()).select_from(Event)) or 0
    assert forgotten is not None
    assert forgotten.rows + events == count


def newest(database: Database, series: int) -> int:
    with database.reading() as session:
        return session.scalar(select(func.max(Event.at)).where(Event.series_id == series)) or 0


def wait_for_more(database: Database, series: int, seen: int, child: subprocess.Popen[str]) -> None:
    eventually(lambda: newest(database, series) > (seen or BEGIN + 900 * STEP) or child.poll() is not None)
    assert child.poll() is None, child.communicate()
