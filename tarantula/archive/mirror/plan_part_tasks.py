"""The documents of an item that are to be copied, some at a time, and where their bytes are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from tarantula.archive.mirror.copier_part_copying import CopyTask
from tarantula.archive.mirror.plan import HAS_COPY, RENDERED_TYPE
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.store.captures import capture_of, warc_folder
from tarantula.store.listings import find_item
from tarantula.tables.publications import Document, Item

DOCUMENTS_PER_BATCH = 500
"""Documents that are asked for at a time, and after which a conversion that was interrupted goes on."""

_COLUMNS: Sequence[InstrumentedAttribute[Any]] = (
    Document.id,
    Document.url,
    Document.type,
    Document.warc,
    Document.warc_offset,
    Document.warc_length,
    Document.rendered_offset,
    Document.refers_to_id,
)


class CopyTasks:
    """Finds what is to be copied of an item; what cannot be is added to *skipped*, with the reason."""

    def __init__(self, database: Database, items: Path, urn: str, skipped: dict[int, str]) -> None:
        self._database = database
        self._items = items
        self._urn = urn
        self._skipped = skipped

    def batches(self, first: int, last: int) -> Iterator[tuple[int, list[CopyTask]]]:
        """Yield some tasks at a time, of documents with these numbers, and the number of the last one of each time."""
        while True:
            with self._database.reading() as session:
                item = find_item(session, self._urn)
                archive = str(warc_folder(session, self._items, item.id))
                rows = session.connection().execute(_rows(item, first, last)).all()
                tasks = [task for row in rows if (task := self._task(session, archive, row))]
            if not rows:
                return
            yield rows[-1].id, tasks
            first = rows[-1].id + 1

    def _task(self, session: Session, archive: str, row: Sequence[Any]) -> CopyTask | None:
        number, url, media_type, warc, offset, length, rendered, refers_to = row
        if number in self._skipped:
            return None
        if refers_to is not None:
            return self._referring(session, number, url, media_type)
        if offset is None:
            self._skipped[number] = "Its bytes are not there."
            return None
        if rendered is not None:
            return CopyTask(number, url, RENDERED_TYPE, f"{archive}/{warc}", rendered)
        return CopyTask(number, url, media_type, f"{archive}/{warc}", offset, length)

    def _referring(self, session: Session, number: int, url: str, media_type: str | None) -> CopyTask | None:
        """Return the task for a document whose body was kept with an earlier one."""
        try:
            capture = capture_of(session, self._items, session.get_one(Document, number))
        except TarantulaError as error:
            self._skipped[number] = str(error)
            return None
        if capture is None:
            self._skipped[number] = "Its bytes are not there."
            return None
        if capture.rendered_offset is not None:
            return CopyTask(number, url, RENDERED_TYPE, str(capture.path), capture.rendered_offset)
        return CopyTask(number, url, media_type, str(capture.path), capture.offset)


def _rows(item: Item, first: int, last: int) -> Select[Any]:
    # The sum keeps a database from taking all documents of the item, and putting them in order, every time.
    chosen = select(*_COLUMNS).where(Document.item_id + 0 == item.id, Document.id.between(first, last), HAS_COPY)
    return chosen.order_by(Document.id).limit(DOCUMENTS_PER_BATCH)
