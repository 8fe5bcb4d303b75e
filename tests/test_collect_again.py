"""A site that is collected twice is kept once, and the second item is whole all the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import select

from tarantula.config import Config
from tarantula.db import Database, open_database
from tarantula.models import Document, Item
from tarantula.store.captures import capture_of
from tarantula.store.read import read_record, unchunk
from tests.collecting import collect, describe
from tests.replaying import ask, serving
from tests.sites.server import Answer
from tests.sites.unchanged import PAGES, UnchangedWeb, path_of, picture


def payloads(database: Database, config: Config, urn: str) -> dict[str, bytes]:
    """Return the body of every document of an item, as it was sent, by its URL."""
    with database.reading() as session:
        item = session.scalars(select(Item).where(Item.urn == urn)).one()
        found = {}
        for document in session.scalars(select(Document).where(Document.item_id == item.id)):
            capture = capture_of(session, config.items, document)
            assert capture is not None, document.url
            found[document.url] = unchunk(read_record(capture.path, capture.offset).raw_body)
    return found


def warc_bytes(config: Config, urn: str) -> int:
    return sum(path.stat().st_size for path in (config.items / urn / "archive").glob("*.warc.gz"))


def urns(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(Item.urn).order_by(Item.id)))


def rows(database: Database, urn: str) -> list[Document]:
    with database.reading() as session:
        return list(session.scalars(select(Document).join(Item).where(Item.urn == urn).order_by(Document.id)))


def test_the_second_collection_of_an_unchanged_site(database: Database, database_config: Config) -> None:
    config = database_config
    with UnchangedWeb() as web:
        describe(database, "site", base_url=web.url(), depth=PAGES)
        collect("site")
        asked = len(web.visits)
        log = collect("site")
        conditional = [visit for visit in web.visits[asked:] if "if-" in visit.head.decode().lower()]
    first, second = urns(database)
    assert payloads(database, config, second) == payloads(database, config, first)
    print(warc_bytes(config, second), warc_bytes(config, first))
    print(log[-1500:])
    for row in rows(database, second):
        print(
            row.state,
            row.url,
            row.reason,
            row.refers_to_id,
            row.unmodified,
            row.depth,
            row.links,
            row.size,
            row.warc_length,
        )
    assert warc_bytes(config, second) < 0.05 * warc_bytes(config, first)
