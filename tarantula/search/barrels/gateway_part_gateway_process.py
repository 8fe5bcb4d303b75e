"""A gateway as a process."""

from __future__ import annotations

import asyncio
import gc
import socket

from tarantula.core.database import Database
from tarantula.search.barrels.gateway import Gateway
from tarantula.search.barrels.gateway_part_lookout import Lookout
from tarantula.search.barrels.http_server import Server, told_by_signals
from tarantula.search.query_counts import EVERY, SearchCounts


async def run_gateway(database: Database, taken: socket.socket) -> None:
    """Be a gateway until Ctrl-C."""
    # What is there now stays: nobody need look for waste in it again and again.
    gc.freeze()
    counts = SearchCounts(database)
    gateway = Gateway(Lookout(database), counts)
    writing = asyncio.create_task(_write(counts))
    routes = {"/find": ("POST", gateway.find), "/complete": ("POST", gateway.complete)}
    await Server(routes).run(taken, told_by_signals())
    writing.cancel()
    await gateway.close()
    await asyncio.to_thread(counts.write)


async def _write(counts: SearchCounts) -> None:
    while True:
        await asyncio.sleep(EVERY)
        await asyncio.to_thread(counts.write)
