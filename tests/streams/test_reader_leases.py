"""Readers and collectors share servers by leases, and only one of several readers reads."""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import pairwise

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Collector, Event
from tests.sites.drawing import page
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import ROOT, SCRAPY, describe, interrupt, start, states, wait_until
from tests.support.sources import all_values, counting, follow, reading
from tests.support.waits import eventually

SLACK = 0.02
"""Tolerance between the clocks of two processes, seconds."""


def test_a_collection_and_a_stream_share_a_server_and_its_pause(database: Database) -> None:
    paths = [f"/{number}" for number in range(30)]
    pages: dict[str, Route] = {path: Answer(page(path)) for path in paths}
    with Web({"/": Answer(page("Base", paths)), "/value": counting(), **pages}) as web:
        describe(database, "slow", base_url=web.url(), delay=0.4)
        follow(database, url=web.url("/value"), interval=1, delay=0.2)
        with reading() as process:
            wait_until(lambda: len(all_values(database)) >= 2, process)
            collector = start([SCRAPY, "crawl", "publication", "-a", "name=slow"])
            wait_until(lambda: len([path for path in paths if web.visits_to(path)]) >= 2, collector)
            read = len(all_values(database))
            collected = len(web.visits)
            # A long collection does not keep the stream waiting, nor the other way round.
            wait_until(lambda: len(all_values(database)) >= read + 2, process)
            wait_until(lambda: len(web.visits) >= collected + 10, collector)
            interrupt(collector)
        visits = list(web.visits)
    gaps = [(after.time - before.time, before.path, after.path) for before, after in pairwise(visits)]
    assert min(gaps)[0] >= 0.2 - SLACK
    # The longer of both pauses applies, before and after the other's visits.
    around = [gap for gap, *both in gaps if any(path in paths for path in both)]
    assert min(around) >= 0.4 - SLACK
    assert any(state == 200 for state in states(database).values())


def test_one_of_two_readers_reads_and_the_other_takes_over_when_it_is_killed(database: Database) -> None:
    with Web({"/": counting()}) as web:
        follow(database, url=web.url(), interval=1)
        first = start([SCRAPY, "crawl", "streams"])
        wait_until(lambda: len(all_values(database)) >= 2, first)
        with reading() as second:
            wait_until(lambda: len(_readers(database)) == 2, second)
            seen, began = len(web.visits_to("/")), time.monotonic()
            wait_until(lambda: len(web.visits_to("/")) >= seen + 3, first)
            assert len(web.visits_to("/")) - seen <= time.monotonic() - began + 1
            first.send_signal(signal.SIGKILL)
            first.wait()
            killed, seen = time.monotonic(), len(web.visits_to("/"))
            wait_until(lambda: len(web.visits_to("/")) >= seen + 2, second)
            assert time.monotonic() - killed < 30
        served = len(web.visits_to("/"))
    values = list(map(int, all_values(database)))
    assert values == sorted(set(values))
    # Readings in progress at the kill are lost; nothing else is.
    assert served - len(values) <= 2
    assert not _readers(database)


def test_a_daemon_reads_streams_and_another_continues_when_it_is_killed(
    sqlite_config: Config, sqlite: Database
) -> None:
    with Web({"/": counting()}) as web:
        follow(sqlite, url=web.url(), interval=1)
        daemon = start([sys.executable, str(ROOT / "scheduler.py")])
        wait_until(lambda: len(all_values(sqlite)) >= 2, daemon)
        (pid,) = _readers(sqlite)
        os.kill(pid, signal.SIGKILL)
        seen = len(all_values(sqlite))
        wait_until(lambda: len(all_values(sqlite)) >= seen + 2, daemon)
        orphans = _readers(sqlite)
        daemon.kill()
        daemon.communicate()
        daemon = start([sys.executable, str(ROOT / "scheduler.py")])
        wait_until(lambda: not orphans & _readers(sqlite), daemon)
        seen = len(all_values(sqlite))
        wait_until(lambda: len(all_values(sqlite)) >= seen + 2, daemon)
        interrupt(daemon)
        eventually(lambda: not _readers(sqlite))
    values = list(map(int, all_values(sqlite)))
    assert values == sorted(set(values))
    assert "Traceback" not in (sqlite_config.home / "streams.log").read_text()
    with sqlite.reading() as session:
        assert len(list(session.scalars(select(Event.at)))) == len(values)


def _readers(database: Database) -> set[int]:
    with database.reading() as session:
        return set(session.scalars(select(Collector.pid).where(Collector.item_id.is_(None))))
