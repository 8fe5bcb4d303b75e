"""Simulated collectors that lease servers, refill their windows and release servers, on one PostgreSQL.

Each has its own connection and its own `Leases`, as a collector has. In the first run each works as fast as it can,
which shows the throughput of the database; in the second each does one round a second, as collectors do, which shows
how long they wait for the database.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from random import Random
from statistics import quantiles
from threading import Thread
from typing import Any, NamedTuple

from sqlalchemy import Connection, create_engine, select

from benchmarks.large_items import fill, new_item
from benchmarks.postgresql import Server, postgresql
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.secrets import Keyring
from tarantula.frontier.queues import WINDOW_SIZE
from tarantula.models import Item
from tarantula.store.database import open_database
from tarantula.store.documents import DocumentTable
from tarantula.store.leases import HEARTBEAT_SECONDS, LEASE_SAFE_SECONDS, ItemLeases

COLLECTORS = (1, 10, 100, 200)
PROCESSES = 4
SERVERS = 5000
ROWS = 1_000_000
SECONDS = 6.0
REFILLS = 4
"""Windows refilled in a round; each lasts for some 150 pages."""
GIVEN_BACK = 16
"""Servers released and leased again in a round."""

Spent = dict[str, list[float]]
"""Durations in seconds, by operation."""


class Held(NamedTuple):
    """A lease of a server: latest possible begin and earliest possible end."""

    server: str
    taken: float
    given: float


class LeaseResults(NamedTuple):
    """Results of some collectors."""

    spent: Spent
    held: list[Held]
    lost: list[str]
    """Servers that a live collector lost to others."""


def measure(rows: int = ROWS) -> dict[str, Any]:
    """Measure with one, ten, a hundred and two hundred collectors."""
    with postgresql() as server:
        with open_database(Config(database_url=server.url)) as database:
            item = new_item(database)
            fill(database, item, rows, SERVERS)
        return {
            name: {str(number): _run(server, item, number, pause) for number in COLLECTORS}
            for name, pause in (("as_fast_as_possible", 0.0), ("one_round_a_second", HEARTBEAT_SECONDS))
        } | {"rows": rows, "servers": SERVERS, "refills_a_round": REFILLS, "given_back_a_round": GIVEN_BACK}


def _run(server: Server, item: int, number: int, pause: float) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    shares = [len(range(start, number, PROCESSES)) for start in range(PROCESSES)]
    ready = time.monotonic() + 4.0 + number / 10
    with context.Pool(PROCESSES) as pool:
        work = [(server.url, item, share, pause, seed, ready) for seed, share in enumerate(shares)]
        running = pool.starmap_async(_collectors, work)
        time.sleep(ready - time.monotonic())
        before = server.cpu()
        time.sleep(SECONDS)
        used = server.cpu() - before
        results = running.get()
    spent: Spent = {}
    for one in results:
        for name, times in one.spent.items():
            spent.setdefault(name, []).extend(times)
    summary = _summary(spent, used)
    summary["lost_by_the_living"] = sum(len(one.lost) for one in results)
    summary["held_by_two"] = _overlaps(held for one in results for held in one.held)
    return summary


def _overlaps(held: Iterable[Held]) -> int:
    """Count the servers that were leased to two collectors at the same time."""
    return sum(first.server == second.server and second.taken < first.given for first, second in pairwise(sorted(held)))


def _summary(spent: Spent, cpu: float) -> dict[str, float]:
    summary: dict[str, float] = {}
    for name, times in spent.items():
        cuts = quantiles(times, n=20)
        summary[f"{name}_per_second"] = round(len(times) / SECONDS, 1)
        summary[f"{name}_p50_ms"] = round(cuts[9] * 1000, 1)
        summary[f"{name}_p95_ms"] = round(cuts[18] * 1000, 1)
    summary["postgresql_cores"] = round(cpu / SECONDS, 2)
    return summary


def _collectors(url: str, item: int, number: int, pause: float, seed: int, ready: float) -> LeaseResults:
    """Simulate some collectors for a while, in a separate process."""
    results = LeaseResults({"leases": [], "refills": [], "beats": []}, [], [])
    if not number:
        return results
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg2://", 1), pool_size=number, max_overflow=0)
    with Database(engine, Keyring(Config())) as database:
        threads = [
            Thread(target=_Collector(database, item, Random(seed * 1000 + one), results).work, args=(pause, ready))
            for one in range(number)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return results


class _Collector:
    """Performs the database operations of a collector, and nothing else."""

    def __init__(self, database: Database, item: int, chance: Random, results: LeaseResults) -> None:
        self._database = database
        self._item = item
        self._chance = chance
        self._results = results
        self._table = DocumentTable(item)
        self._leases = ItemLeases(item)
        self._taken: dict[str, float] = {}
        self._beaten = time.monotonic()

    def work(self, pause: float, ready: float) -> None:
        """Register, then run rounds until the end time."""
        self._transact(self._leases.join)
        self._transact(self._leases.seek)
        time.sleep(max(ready + self._chance.random() * pause - time.monotonic(), 0))
        ends = ready + SECONDS
        spent = self._results.spent
        while (began := time.monotonic()) < ends:
            began_to_beat = time.monotonic()
            spent["beats"].append(self._transact(self._beat))
            self._beaten = began_to_beat
            for server in self._some(REFILLS):
                refill = partial(self._table.next_waiting, server=server, held=frozenset(), limit=WINDOW_SIZE)
                spent["refills"].append(self._transact(refill))
            spent["leases"].append(self._transact(self._exchange))
            time.sleep(max(began + pause - time.monotonic(), 0))
        self._let_go(self._leases.held)
        self._transact(self._leave)

    def _beat(self, connection: Connection) -> None:
        lost = self._leases.beat(connection)
        self._results.lost.extend(lost)
        for server in lost:
            self._taken.pop(server, None)
        surplus = self._leases.surplus(connection)
        self._let_go(surplus)
        self._leases.give_back(connection, dict.fromkeys(surplus, 0.0), yielding=True)

    def _exchange(self, connection: Connection) -> None:
        """Release some servers and lease others."""
        given = self._some(GIVEN_BACK)
        self._let_go(given)
        self._leases.give_back(connection, dict.fromkeys(given, 0.0))
        self._leases.seek(connection)

    def _some(self, number: int) -> list[str]:
        return self._chance.sample(sorted(self._leases.held), min(number, len(self._leases.held)))

    def _let_go(self, servers: Iterable[str]) -> None:
        # A collector that could not write its heartbeat visits no server.
        until = min(time.monotonic(), self._beaten + LEASE_SAFE_SECONDS)
        held = [Held(server, self._taken.pop(server), until) for server in servers]
        self._results.held.extend(one for one in held if one.taken < one.given)

    def _leave(self, connection: Connection) -> None:
        """Let the collectors leave one after another, as the coordinator does."""
        connection.execute(select(Item.id).where(Item.id == self._item).with_for_update())
        self._leases.leave(connection)

    def _transact(self, work: Callable[[Connection], object]) -> float:
        began = time.perf_counter()
        with self._database.engine.begin() as connection:
            work(connection)
        now = time.monotonic()
        for server in self._leases.held.keys() - self._taken.keys():
            self._taken[server] = now
        return time.perf_counter() - began
