"""Time and memory to compute the link weights of an ended item, on both databases."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

from sqlalchemy import insert, update

from benchmarks.documents import on_postgresql, on_sqlite
from benchmarks.large_items import new_item
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of
from tarantula.models import Document, Item, LinkRow, ReadText, Server
from tarantula.search.ranks.ranking import rank_items
from tarantula.search.texts.content import ExtractedText
from tarantula.store.bulk import chunks
from tarantula.store.journal import JournalKind, JournalRecord

LINKS = 10
"""Links of each page; two of them are the same on all pages."""


def measure(pages: int = 30_000) -> dict[str, Any]:
    """Compute the link weights of an item with random links."""
    return {"pages": pages, "links": pages * LINKS} | {
        name: _weigh(opened, pages) for name, opened in (("sqlite", on_sqlite()), ("postgresql", on_postgresql()))
    }


def _weigh(opened: Any, pages: int) -> dict[str, float]:
    with opened as database:
        item = new_item(database)
        _fill(database, item, pages)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, own = time.monotonic(), time.process_time()
        rank_items(database, [JournalRecord(1, JournalKind.ENDED, item, [])])
        seconds, own = time.monotonic() - began, time.process_time() - own
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "seconds": round(seconds, 1),
        "cpu_us_per_page": round(own / pages * 1e6, 1),
        "more_memory_mb": round(more / 1024, 1),
    }


def _fill(database: Database, item: int, pages: int) -> None:
    with database.session() as session:
        session.execute(update(Item).values(state=ItemState.ARCHIVED, finished_at=datetime.now(UTC)))
        server = Server(name="www.example.org")
        session.add(server)
        session.flush()
        for rows in chunks(_rows(item, server.id, pages), 2000):
            connection = session.connection()
            connection.execute(insert(Document), [document for document, _, _ in rows])
            connection.execute(insert(LinkRow), [link for _, links, _ in rows for link in links])
            connection.execute(insert(ReadText), [text for _, _, text in rows])


def _rows(item: int, server: int, pages: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]]:
    chance = Random(1)
    same = {"depth": 1, "kind": 0, "redirects": 0, "rank": 0, "tries": 1, "state": 200, "type": "text/html"}
    for page in range(pages):
        number = page + 1_000
        named = {0, 1, *(int(pages * chance.random() ** 2) for _ in range(LINKS - 2))}
        keys = {target: key_of(_url(target)) for target in named}
        anchors = [(key.hex(), f"Page {target} of the story" if target > 1 else "Home") for target, key in keys.items()]
        content = ExtractedText(title=f"Page {page}", main="A story. " * 500, anchors=anchors).packed()
        yield (
            {"id": number, "item_id": item, "key": key_of(_url(page)), "url": _url(page), "server_id": server, **same},
            [{"document_id": number, "target": key, "kind": 0} for key in keys.values()],
            {"document_id": number, "item_id": item, "content": content},
        )


def _url(page: int) -> str:
    return f"http://www.example.org/page-{page}.html"
