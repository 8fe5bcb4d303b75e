"""The CDXJ index of an item, made from its rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.models import Document, Item
from tarantula.store.cdxj import IndexRow, write_index


def index_item(session: Session, item: Item, directory: Path) -> int:
    """Write ``indexes/index.cdxj`` below the item's directory; return how many lines it has."""
    return write_index(_rows(session, item), directory / "indexes" / "index.cdxj")


def _rows(session: Session, item: Item) -> Iterator[IndexRow]:
    rows = session.execute(
        select(
            Document.url,
            Document.collected_at,
            Document.type,
            Document.state,
            Document.digest,
            Document.warc_length,
            Document.warc_offset,
            Document.warc,
        )
        .where(Document.item_id == item.id, Document.warc.is_not(None))
        .execution_options(yield_per=5000)
    )
    for url, at, media_type, state, digest, length, offset, file in rows:
        if at is not None and length is not None and offset is not None and file is not None:
            yield IndexRow(url, at, media_type, state, digest or "-", length, offset, file)
