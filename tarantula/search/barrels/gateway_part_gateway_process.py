"""A gateway as a process."""

from __future__ import annotations

import asyncio
import gc
import socket

from tarantula.core.database import Database
from tarantula.search.barrels.gateway import Gateway
from tarantula.search.barrels.gateway_part_lookout import BarrelDirectory
from tarantula.search.barrels.http_server import JsonServer, shutdown_event
from tarantula.search.query_counts import WRITE_INTERVAL_SECONDS, QueryCounter


async def run_gateway(database: Database, taken: socket.socket) -> None:
    """Be a gateway until Ctrl-C."""
    # What is there now stays: nobody need look for waste in it again and again.
    gc.freeze()
    counts = QueryCounter(database)
    gateway = Gateway(BarrelDirectory(database), counts)
    writing = asyncio.create_task(_write(counts))
    routes = {"/find": ("POST", gateway.find), "/complete": ("POST", gateway.complete)}
    await JsonServer(routes).run(taken, shutdown_event())
    writing.cancel()
    await gateway.close()
    await asyncio.to_thread(counts.write)


async def _write(counts: QueryCounter) -> None:
    while True:
        await asyncio.sleep(WRITE_INTERVAL_SECONDS)
        await asyncio.to_thread(counts.write)
