"""A gateway as a process."""

from __future__ import annotations

import asyncio
import socket

from tarantula.db import Database
from tarantula.search.counting import EVERY, SearchCounts
from tarantula.search.gateway import Gateway
from tarantula.search.http_server import Server, until_told
from tarantula.search.lookout import Lookout


async def serve_gateway(database: Database, taken: socket.socket) -> None:
    """Be a gateway until Ctrl-C."""
    ending, counts = asyncio.Event(), SearchCounts(database)
    gateway = Gateway(Lookout(database), counts)
    serving = asyncio.create_task(Server({"/find": ("POST", gateway.find)}).run(taken, ending))
    writing = asyncio.create_task(_write(counts))
    await until_told(serving, writing)
    ending.set()
    writing.cancel()
    await serving
    await gateway.close()
    await asyncio.to_thread(counts.write)


async def _write(counts: SearchCounts) -> None:
    while True:
        await asyncio.sleep(EVERY)
        await asyncio.to_thread(counts.write)
