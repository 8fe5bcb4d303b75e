"""Indicators and differences of large items; with ``TARANTULA_FULL_SIZE=1`` a million documents each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import Any

from sqlalchemy import insert, select, text

from tarantula.archive.diff.items import ItemComparison
from tarantula.archive.quality.indicators import compute_indicators
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.urls import key_of
from tarantula.links.link import LinkKind
from tarantula.models import Document, LinkRow
from tarantula.store.listings import IS_COLLECTED, find_item
from tests.support.monthly_items import BASE, archive

FULL = "TARANTULA_FULL_SIZE" in os.environ
SIZE = 1_000_000 if FULL else 2_000
REQUISITES = SIZE // 50


def url_of(number: int) -> str:
    return f"{BASE}a/path/of/the/usual/length/document-{number}.html"


def documents(item: int, first: int, changed_every: int) -> Iterator[dict[str, Any]]:
    """Yield documents with consecutive numbers, some with bytes that only this item has."""
    place = {"server_id": 1, "depth": 1, "kind": 0, "redirects": 0, "rank": 0, "tries": 1, "type": "text/html"}
    for number in range(first, first + SIZE):
        version = item if changed_every and number % changed_every == 0 else 0
        yield {
            **place,
            "item_id": item,
            "url": url_of(number),
            "key": key_of(url_of(number)),
            "state": 404 if number % 20 == 1 else 200,
            "size": 8000,
            "digest": f"sha1:{number:026}{version:06}",
        }


def insert_all(database: Database, table: Any, rows: Iterator[dict[str, Any]]) -> None:
    with database.engine.begin() as connection:
        while chunk := list(islice(rows, 5000)):
            connection.execute(insert(table.__table__), chunk)


def links(database: Database, item: int) -> Iterator[dict[str, Any]]:
    with database.reading() as session:
        pages = session.scalars(select(Document.id).where(Document.item_id == item, IS_COLLECTED)).all()
    for number, page in enumerate(pages):
        needed, linked = SIZE - number % REQUISITES, 2 * SIZE + number
        yield {"document_id": page, "target": key_of(url_of(needed)), "kind": LinkKind.REQUISITE}
        yield {"document_id": page, "target": key_of(url_of(linked)), "kind": LinkKind.NAVIGATION}


def test_large_items_are_compared_quickly(database: Database, database_config: Config) -> None:
    urns = [archive(database_config, database, month, {}) for month in (1, 2)]
    with database.reading() as session:
        ids = [find_item(session, urn).id for urn in urns]
    shift = SIZE // 100
    insert_all(database, Document, documents(ids[0], 0, 0))
    insert_all(database, Document, documents(ids[1], shift, 20))
    insert_all(database, LinkRow, links(database, ids[1]))
    with database.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    began = monotonic()
    with database.reading() as session:
        before, after = (find_item(session, urn) for urn in urns)
        indicators = compute_indicators(session, after)
        computed = monotonic()
        comparison = ItemComparison(session, before, after)
        summary = comparison.summary()
        rows = sum(1 for _ in comparison.differences())
    ended = monotonic()
    print(f"\n{SIZE:,} documents: indicators {computed - began:.1f} s, difference {ended - computed:.1f} s")
    assert indicators.collected == SIZE * 19 // 20 + 1
    assert indicators.requisites.missing == REQUISITES // 20
    assert (summary.by_url.new, summary.by_url.gone) == (shift * 19 // 20, shift * 19 // 20)
    assert summary.by_url.changed == (SIZE - shift) // 20
    assert rows == summary.by_url.new + summary.by_url.gone + summary.by_url.changed
