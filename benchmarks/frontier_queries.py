"""Queries of the frontier on PostgreSQL for an item with millions of documents."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any

from sqlalchemy import Connection

from benchmarks.large_items import fill, new_item, size_of
from benchmarks.postgresql import postgresql
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.frontier.queues import WINDOW_SIZE
from tarantula.store.database import open_database
from tarantula.store.documents import DocumentTable
from tarantula.store.leases import ItemLeases

ROWS = 10_000_000
SERVERS = 5000
TIMES = 100


def measure(rows: int = ROWS, servers: int = SERVERS) -> dict[str, Any]:
    """Run each query a hundred times: find servers with work, lease some, refill the window of one."""
    with postgresql() as server, open_database(Config(database_url=server.url)) as database:
        item = new_item(database)
        began = time.monotonic()
        fill(database, item, rows, servers)
        filled = time.monotonic() - began
        table, leases = DocumentTable(item), ItemLeases(item)
        with database.engine.begin() as connection:
            leases.join(connection)
            size = size_of(connection)
        return {
            "rows": rows,
            "servers": servers,
            "table_gigabytes": round(size / 1e9, 1),
            "filled_in_seconds": round(filled, 1),
            "which_servers_have_work_ms": _median(database, _ask_for_work(leases, servers)),
            "lease_256_and_give_back_ms": _median(database, _lease(leases)),
            "refill_ms": _median(database, _refill(table, servers)),
        }


def _median(database: Database, question: Callable[[Connection], object]) -> float:
    """Return the median duration in milliseconds, including the transaction."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        with database.engine.begin() as connection:
            question(connection)
        times.append(time.perf_counter() - began)
    return round(median(times) * 1000, 2)


def _ask_for_work(leases: ItemLeases, servers: int) -> Callable[[Connection], object]:
    chance = Random(1)
    return lambda connection: leases._servers_with_work(connection, chance.randrange(servers))


def _lease(leases: ItemLeases) -> Callable[[Connection], object]:
    def lease(connection: Connection) -> None:
        taken = leases.seek(connection)
        leases.give_back(connection, dict.fromkeys((lease.server for lease in taken), 0.0))

    return lease


def _refill(table: DocumentTable, servers: int) -> Callable[[Connection], object]:
    chance = Random(2)

    def refill(connection: Connection) -> None:
        table.next_waiting(connection, f"s{chance.randrange(1, servers)}.example.org", set(), WINDOW_SIZE)

    return refill
