"""Where the bytes of a document are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sqlalchemy.orm import Session

from tarantula.models import Document, Item


class Capture(NamedTuple):
    """The records of one document."""

    path: Path
    offset: int
    """Where the record of the answer begins."""
    rendered_offset: int | None
    """Where the record of the browser's version begins, if there is one."""


def capture_of(session: Session, items: Path, document: Document) -> Capture | None:
    """Return where the bytes of a document are, below the folder of all items; nothing if none were kept."""
    if document.warc is None or document.warc_offset is None:
        return None
    item = session.get_one(Item, document.item_id)
    return Capture(items / item.urn / "archive" / document.warc, document.warc_offset, document.rendered_offset)
