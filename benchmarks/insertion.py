"""Insertion rate of new documents and their links into PostgreSQL through the real writer."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import func, select

from benchmarks.large_items import fill, new_item
from benchmarks.postgresql import postgresql
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.process import collect_and_freeze
from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of
from tarantula.frontier.queues import WINDOW_SIZE
from tarantula.models import Document, LinkRow
from tarantula.store.commit_group import FinishedDocument
from tarantula.store.database import open_database
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome, DocumentTable
from tarantula.store.leases import ItemLeases
from tarantula.store.warc_writer import WarcWriter
from tarantula.store.writer import DepthUpdater, RowWriter, Writer
from tests.sites.large import LINKS

GROUP = 400
"""Concurrent pages, the maximum of a group commit."""
SERVERS = 64

ANSWERED = Reason.of("answered", answer="200 OK")


def measure(pages: int = 8000) -> dict[str, Any]:
    """Store pages with 27 links each, every second one already known, and measure rows per second."""
    finished = list(_pages(pages))
    # As a collector does at its start.
    collect_and_freeze()
    with postgresql() as server, open_database(Config(database_url=server.url)) as database:
        item = new_item(database)
        fill(database, item, pages, SERVERS)
        before, began, own = server.cpu(), time.monotonic(), time.process_time()
        groups = asyncio.run(_store(database, item, finished))
        seconds, own, its = time.monotonic() - began, time.process_time() - own, server.cpu() - before
        with database.reading() as session:
            new = (session.scalar(select(func.count()).select_from(Document)) or 0) - pages - 1
            links = session.scalar(select(func.count()).select_from(LinkRow)) or 0
    offered = pages * LINKS
    return {
        "new_documents_per_second": round(new / seconds),
        "offered_documents_per_second": round(offered / seconds),
        "links_per_second": round(links / seconds),
        "new_documents": new,
        "offered_documents": offered,
        "links": links,
        "pages": pages,
        "groups": groups,
        "seconds": round(seconds, 1),
        "collector_cpu_us_per_new_document": round(own / new * 1e6, 1),
        "postgresql_cpu_us_per_new_document": round(its / new * 1e6, 1),
    }


def _pages(pages: int) -> Iterator[FinishedDocument]:
    """Return the links of a page as discovery does; every second one is already known from an earlier page."""
    chance = Random(1)
    new = 0
    for number in range(pages):
        rows = []
        for link in range(LINKS):
            if link % 2 and new > LINKS:
                target = chance.randrange(new)
            else:
                target, new = new, new + 1
            rows.append(_found(target, via=number + 2))
        yield FinishedDocument(
            DocumentOutcome(number + 2, 200, reason=ANSWERED),
            found=rows,
            links={row.key: row.kind for row in rows},
        )


def _found(number: int, via: int) -> DiscoveredUrl:
    server = f"s{number % SERVERS}.example.org"
    url = f"http://{server}/section-{number % 7}/page-{number}.html"
    return DiscoveredUrl(key_of(url), url, server, 3, 0, 0, 2, via, DocumentState.WAITING, None, None)


async def _store(database: Database, item: int, finished: list[FinishedDocument]) -> int:
    """Pass pages to a writer, some hundred at a time, as a collector does; return the number of group commits."""
    table, leases = DocumentTable(item), ItemLeases(item)
    rows = RowWriter(table, leases, DepthUpdater(table, lambda entry, links: []), WINDOW_SIZE)
    with database.engine.begin() as connection:
        rows.open_first(connection)
    with tempfile.TemporaryDirectory() as directory:
        warc = WarcWriter(Path(directory), "bench", {})
        writer = Writer(database.engine, rows, warc, asyncio.get_running_loop(), lambda news: None)
        writer.start()
        under_way: set[asyncio.Future[None]] = set()
        for page in finished:
            under_way.add(writer.finish(page))
            if len(under_way) >= GROUP:
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.gather(*done)
        await asyncio.gather(*under_way)
        await asyncio.to_thread(writer.close)
        return writer.groups
