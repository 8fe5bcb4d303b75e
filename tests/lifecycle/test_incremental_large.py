"""A large item is copied and planned in a few statements; with ``TARANTULA_FULL_SIZE=1`` a million documents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from time import monotonic
from typing import Any

from sqlalchemy import func, insert, select, text

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.urls import key_of
from tarantula.lifecycle.coordinator import prepare_item
from tarantula.lifecycle.incremental import apply_refresh, plan_refresh, planned_visits
from tarantula.models import Document, Item, LinkRow, Server, Visit
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item
from tarantula.store.visits import VisitTable
from tests.support.crawls import describe
from tests.support.item_lifecycles import change

FULL = "TARANTULA_FULL_SIZE" in os.environ
SIZE = 1_000_000 if FULL else 2_000
SERVERS, LINKS = 100, 3
SECONDS = 90
"""Limit in seconds for a million documents on two shared cores."""
BASE = "http://site.example/"
AGO = datetime.now(UTC) - timedelta(days=7)


def url_of(number: int) -> str:
    return f"{BASE}a/path/of/the/usual/length/document-{number}.html"


def documents(item: int) -> Iterator[dict[str, Any]]:
    place = {"depth": 1, "kind": 0, "redirects": 0, "rank": 6, "tries": 1, "type": "text/html", "state": 200}
    record = {"warc": "a.warc.gz", "warc_length": 900, "size": 8000, "collected_at": AGO, "etag": '"1"'}
    for number in range(SIZE):
        own = {"server_id": 1 + number % SERVERS, "warc_offset": number, "digest": f"sha1:{number:032}"}
        yield {**place, **record, **own, "item_id": item, "url": url_of(number), "key": key_of(url_of(number))}


def links(first: int) -> Iterator[dict[str, Any]]:
    for number in range(SIZE):
        for step in range(1, LINKS + 1):
            yield {"document_id": first + number, "target": key_of(url_of((number + step) % SIZE)), "kind": 0}


def insert_all(database: Database, table: Any, rows: Iterator[dict[str, Any]]) -> None:
    with database.engine.begin() as connection:
        while chunk := list(islice(rows, 5000)):
            connection.execute(insert(table.__table__), chunk)


def test_a_large_item_is_refreshed(database: Database, database_config: Config) -> None:
    describe(database, "site", base_url=BASE, delay=5, refresh=True, every="weekly", refresh_visits=SIZE // 5)
    first = prepare_item(database_config, "site")
    with database.session() as session:
        old = find_item(session, first).id
        session.execute(insert(Server), [{"name": f"{number}.example"} for number in range(SERVERS)])
    insert_all(database, Document, documents(old))
    with database.reading() as session:
        beginning = session.scalar(select(func.min(Document.id)).where(Document.collected_at.is_not(None))) or 0
    insert_all(database, LinkRow, links(beginning))
    with database.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    change(database, first, state="archived", started_at=AGO)
    second = prepare_item(database_config, "site")
    began = monotonic()
    with database.reading() as session:
        earlier = session.get_one(Item, find_item(session, second).refreshes_id)
        foreseen = plan_refresh(session, database_config, earlier, datetime.now(UTC), planned_visits)
    planned = monotonic()
    with database.session() as session:
        item = lock_item(session, second)
        apply_refresh(session, item, foreseen)
    carried = monotonic()
    with database.session() as session:
        own = select(func.count()).where(Document.item_id == item.id)
        assert session.scalar(own) == SIZE + 1
        assert session.scalar(own.where(Document.refers_to_id.is_not(None))) == SIZE
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 2 * LINKS * SIZE
        visits = session.scalar(select(func.count()).where(Visit.item_id == item.id)) or 0
        assert 0 < visits <= SIZE // 5
        looking = monotonic()
        released = len(VisitTable(item.id, item.planned_at).release(session.connection()))
        looked = monotonic() - looking
    print(f"\n{SIZE} documents, {LINKS * SIZE} links: {visits} visits planned in {planned - began:.1f} s,")
    print(f"all carried over in {carried - planned:.1f} s; {released} visits released in {looked:.3f} s")
    if FULL:
        assert carried - planned < SECONDS
