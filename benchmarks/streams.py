"""Streams: sources read per second on one core with everything stored, and punctuality of many sources.

The reader runs in a separate process on one core; the site is served by this process. Every page changes at each visit,
so each reading is an event, for which levels must be computed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import func, insert, select

from benchmarks.crawl import BIN, ROOT, environment
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Event, Source, SourceState
from tarantula.store.database import open_database
from tarantula.streams.history.levels import SECOND
from tarantula.streams.reading.visits import next_due
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceStatus, parse_source
from tests.sites.server import Answer, Visit, Web

SERVERS = 200
PAGE = 2000
"""Approximate size of a page in bytes."""
WARM_UP = 5.0
"""Seconds of warm-up after the first visit."""
TIMEOUT_SECONDS = 60.0
SOURCES = 1500
"""Sources due every second: more than can be read."""
MIXED = (30.0, 60.0, 120.0, 300.0)
"""Intervals in seconds, each for a quarter of the sources."""


def measure(sources: int = 10_000, seconds: float = 60.0) -> dict[str, Any]:
    """Measure the maximum rate, then the punctuality."""
    return {**_throughput(min(seconds, 20.0)), **_punctuality(sources, seconds)}


def _throughput(seconds: float) -> dict[str, Any]:
    with _web() as web, tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        with open_database(_installation(work)) as database:
            _describe(database, web, SOURCES, (1.0,))
            with _reader(work) as process:
                _wait_for_first(web)
                before, used, began = _events(database), _cpu(process.pid), time.monotonic()
                time.sleep(seconds)
                stored, spent = _events(database) - before, _cpu(process.pid) - used
                elapsed = time.monotonic() - began
            whole = _events(database)
        if whole > len(web.visits):
            raise SystemExit(f"{whole} events of {len(web.visits)} pages: some were stored twice")
    return {
        "readings_per_second": round(stored / elapsed, 1),
        "ms_of_cpu_per_reading": round(spent / stored * 1000, 2),
        "readings_per_second_of_cpu": round(stored / spent, 1),
    }


def _punctuality(sources: int, seconds: float) -> dict[str, Any]:
    with _web() as web, tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        with open_database(_installation(work)) as database:
            intervals = _describe(database, web, sources, MIXED)
            with _reader(work):
                _wait_for_first(web)
                began = time.monotonic()
                time.sleep(seconds)
        times: defaultdict[str, list[float]] = defaultdict(list)
        for visit in web.visits:
            if visit.time >= began:
                times[visit.path].append(visit.time)
    late = sorted(
        after - before - intervals[path] for path, visits in times.items() for before, after in pairwise(visits)
    )
    if not late:
        raise SystemExit("Too short: no source was read twice.")
    return {
        "sources": sources,
        "seconds": seconds,
        "gaps": len(late),
        "late_seconds_at_the_99th_percentile": round(late[int(len(late) * 0.99)], 3),
        "latest_seconds": round(late[-1], 3),
    }


@contextmanager
def _web() -> Iterator[Web]:
    numbers = count(1)
    filling = "<p>" + "word " * (PAGE // 5) + "</p>"

    async def page(_visit: Visit, _connection: asyncio.Transport) -> Answer:
        return Answer(f'<html><body><h1>Page</h1>{filling}<b>Now</b> <i id="value">{next(numbers)}</i></body></html>')

    addresses = [f"127.0.1.{number}" for number in range(1, SERVERS + 1)]
    with Web({}, addresses, fallback=page) as web:
        yield web


def _describe(database: Database, web: Web, number: int, intervals: tuple[float, ...]) -> dict[str, float]:
    """Add sources with an earlier reading; return their intervals by path."""
    paths = {f"/{index}": intervals[index % len(intervals)] for index in range(number)}
    moment = datetime.now(UTC)
    now = int(moment.timestamp() * SECOND)
    rows, states = [], []
    for index, (path, interval) in enumerate(paths.items()):
        url = web.url(path, web.addresses[index % SERVERS])
        field = {"key": "value", "kind": "integer", "place": {"css": "#value"}}
        said = {"url": url, "interval": interval, "delay": 0, "robots": False, "fields": [field]}
        config = parse_source({"name": f"bench.s{index}", **said})
        source = Source(name=config.name, owner="", revision=0)
        registry.write_config(source, config, moment)
        columns = (column.name for column in Source.__table__.columns)
        rows.append({name: getattr(source, name) for name in columns} | {"id": index + 1, "created_at": moment})
        due = next_due(url, interval, now)
        states.append(
            {
                "source_id": index + 1,
                "status": SourceStatus.READ,
                "sentence": "",
                "misses": 0,
                "due_at": due,
                "read_at": now,
                "stamp": 0,
                "validators": {},
                "memory": {},
            }
        )
    with database.session() as session:
        session.execute(insert(Source), rows)
        session.execute(insert(SourceState), states)
    return paths


@contextmanager
def _reader(work: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the reader process on one core."""
    core = {max(os.sched_getaffinity(0))}
    with (work / "streams.log").open("wb") as words:
        process = subprocess.Popen(
            [str(BIN / "scrapy"), "crawl", "streams"],
            cwd=ROOT,
            env=environment(work),
            stdout=words,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, core),
        )
    try:
        yield process
        if process.poll() is not None:
            raise SystemExit((work / "streams.log").read_text())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_SECONDS)


def _wait_for_first(web: Web) -> None:
    give_up = time.monotonic() + TIMEOUT_SECONDS
    while not web.visits and time.monotonic() < give_up:
        time.sleep(0.1)
    time.sleep(WARM_UP)


def _events(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(Event)) or 0


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _installation(work: Path) -> Config:
    return Config(home=work / "home", database_url="")
