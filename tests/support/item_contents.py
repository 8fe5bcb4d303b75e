"""Contents of an item: bodies, rows and WARC files."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document, Item
from tarantula.store.captures import capture_of
from tarantula.store.listings import find_item
from tarantula.store.warc_reader import read_response


def bodies(database: Database, config: Config, urn: str) -> dict[str, bytes]:
    """Return the stored bodies of an item, by URL."""
    with database.reading() as session:
        item = find_item(session, urn)
        found = {}
        for document in session.scalars(select(Document).where(Document.item_id == item.id)):
            capture = capture_of(session, config.items, document)
            if capture is not None:
                found[document.url] = read_response(capture.path, capture.offset).body
    return found


def documents(database: Database, urn: str) -> dict[str, Document]:
    """Return the document rows of an item, by URL."""
    with database.reading() as session:
        rows = session.scalars(select(Document).join(Item, Item.id == Document.item_id).where(Item.urn == urn))
        return {row.url: row for row in rows}


def urns(database: Database) -> list[str]:
    """Return the urns of all items, oldest first."""
    with database.reading() as session:
        return list(session.scalars(select(Item.urn).order_by(Item.id)))


def files(config: Config, urn: str) -> list[Path]:
    """Return the paths of an item's WARC files."""
    return sorted((config.items / urn / "archive").glob("*.warc.gz"))


def warc_bytes(config: Config, urn: str) -> int:
    """Return the total size of an item's WARC files."""
    return sum(path.stat().st_size for path in files(config, urn))
