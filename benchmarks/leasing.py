"""Simulated collectors that take servers on lease, refill their windows and give servers back, on one PostgreSQL.

Each has a connection and a `Leases` of its own, as a collector has. First every one goes as fast as it can, which shows
what the database can do; then each does one round a second, as collectors do, which shows how long they wait for it.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from random import Random
from statistics import quantiles
from threading import Thread
from typing import Any

from sqlalchemy import Connection, create_engine, select

from benchmarks.filling import fill, new_item
from benchmarks.postgresql import Server, postgresql
from tarantula.config import Config
from tarantula.db import Database, open_database
from tarantula.frontier.queues import WINDOW
from tarantula.models import Item
from tarantula.store.documents import DocumentTable
from tarantula.store.leases import BEAT, Leases

COLLECTORS = (1, 10, 100, 200)
PROCESSES = 4
SERVERS = 5000
ROWS = 1_000_000
SECONDS = 6.0
REFILLS = 4
"""Windows that are refilled in a round; each is enough for some 150 pages."""
GIVEN_BACK = 16
"""Servers that are given back in a round, and taken again."""

Spent = dict[str, list[float]]
"""Seconds, for each thing that was done."""


def measure(rows: int = ROWS) -> dict[str, Any]:
    """Measure at one, ten, a hundred and two hundred collectors."""
    with postgresql() as server:
        with open_database(Config(database_url=server.url)) as database:
            item = new_item(database)
            fill(database, item, rows, SERVERS)
        return {
            name: {str(number): _run(server, item, number, pause) for number in COLLECTORS}
            for name, pause in (("as_fast_as_possible", 0.0), ("one_round_a_second", BEAT))
        } | {"rows": rows, "servers": SERVERS, "refills_a_round": REFILLS, "given_back_a_round": GIVEN_BACK}


def _run(server: Server, item: int, number: int, pause: float) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    shares = [len(range(start, number, PROCESSES)) for start in range(PROCESSES)]
    ready = time.monotonic() + 4.0 + number / 10
    with context.Pool(PROCESSES) as pool:
        work = [(server.url, item, share, pause, seed, ready) for seed, share in enumerate(shares)]
        telling = pool.starmap_async(_collectors, work)
        time.sleep(ready - time.monotonic())
        before = server.cpu()
        time.sleep(SECONDS)
        used = server.cpu() - before
        told = telling.get()
    spent: Spent = {}
    for one in told:
        for name, times in one.items():
            spent.setdefault(name, []).extend(times)
    return _summary(spent, used)


def _summary(spent: Spent, cpu: float) -> dict[str, float]:
    summary: dict[str, float] = {}
    for name, times in spent.items():
        cuts = quantiles(times, n=20)
        summary[f"{name}_per_second"] = round(len(times) / SECONDS, 1)
        summary[f"{name}_p50_ms"] = round(cuts[9] * 1000, 1)
        summary[f"{name}_p95_ms"] = round(cuts[18] * 1000, 1)
    summary["postgresql_cores"] = round(cpu / SECONDS, 2)
    return summary


def _collectors(url: str, item: int, number: int, pause: float, seed: int, ready: float) -> Spent:
    """Be some collectors for a while, in a process of their own."""
    spent: Spent = {"leases": [], "refills": [], "beats": []}
    if not number:
        return spent
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg2://", 1), pool_size=number, max_overflow=0)
    with Database(engine) as database:
        threads = [
            Thread(target=_collector, args=(database, item, pause, Random(seed * 1000 + one), ready, spent))
            for one in range(number)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return spent


def _collector(database: Database, item: int, pause: float, chance: Random, ready: float, spent: Spent) -> None:
    table, leases = DocumentTable(item), Leases(item)

    def beat(connection: Connection) -> None:
        leases.beat(connection)
        leases.give_back(connection, dict.fromkeys(leases.surplus(connection), 0.0), shy=True)

    _transact(database, leases.join)
    _transact(database, leases.seek)
    time.sleep(max(ready + chance.random() * pause - time.monotonic(), 0))
    ends = ready + SECONDS
    while (began := time.monotonic()) < ends:
        spent["beats"].append(_transact(database, beat))
        for server in chance.sample(sorted(leases.held), min(REFILLS, len(leases.held))):
            refill = partial(table.next_waiting, server=server, held=frozenset(), limit=WINDOW)
            spent["refills"].append(_transact(database, refill))
        spent["leases"].append(_transact(database, partial(_exchange, leases, chance)))
        time.sleep(max(began + pause - time.monotonic(), 0))
    _transact(database, partial(_leave, leases, item))


def _exchange(leases: Leases, chance: Random, connection: Connection) -> None:
    """Give some servers back, and take others."""
    given = chance.sample(sorted(leases.held), min(GIVEN_BACK, len(leases.held)))
    leases.give_back(connection, dict.fromkeys(given, 0.0))
    leases.seek(connection)


def _leave(leases: Leases, item: int, connection: Connection) -> None:
    """Leave one after the other, as the coordinator sees to."""
    connection.execute(select(Item.id).where(Item.id == item).with_for_update())
    leases.leave(connection)


def _transact(database: Database, work: Callable[[Connection], object]) -> float:
    began = time.perf_counter()
    with database.engine.begin() as connection:
        work(connection)
    return time.perf_counter() - began
