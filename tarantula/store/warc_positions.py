"""Positions of WARC records that the rows of an item name, to compare files with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from os import pread
from struct import Struct
from tempfile import TemporaryFile
from typing import Any, Self

from sqlalchemy import Select, collate, literal, null, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.urls import key_of
from tarantula.models import Document, InheritedRecord, Item, Visit
from tarantula.store.document_query import documents_of
from tarantula.store.warc_check import StoredPosition

ROWS_PER_FETCH = 5000


class PositionSpool:
    """The records of an item that rows name, in file order, in a temporary file.

    They are copied there with one query, so that no transaction stays open while files are read.
    """

    _POSITION = Struct("<qqq16s48s")

    def __init__(self, database: Database, item_id: int, name: str | None = None) -> None:
        """Copy the positions of the item *item_id*, or only those in its file *name*."""
        self._file = TemporaryFile(prefix="tarantula-verify-")  # noqa: SIM115 - closed by this context manager
        self._parts: dict[str, tuple[int, int]] = {}
        with database.reading() as session:
            self._copy(session, item_id, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._file.close()

    @property
    def names(self) -> set[str]:
        """Names of the files in which a record is."""
        return {*self._parts}

    def positions(self, name: str) -> Iterator[StoredPosition]:
        """Yield the positions in one file."""
        start, number = self._parts.get(name, (0, 0))
        size = self._POSITION.size
        for first in range(0, number, ROWS_PER_FETCH):
            some = min(ROWS_PER_FETCH, number - first)
            data = pread(self._file.fileno(), some * size, start + first * size)
            for offset, length, document_id, key, digest in self._POSITION.iter_unpack(data):
                yield StoredPosition(offset, length, document_id, key, digest.rstrip(b"\0"))

    def _copy(self, session: Session, item_id: int, name: str | None) -> None:
        packed, write, size = self._POSITION.pack, self._file.write, self._POSITION.size
        place = 0
        for warc, rows in groupby(_positions(session, session.get_one(Item, item_id), name), itemgetter(0)):
            number = 0
            for _, offset, document_id, length, key, digest in rows:
                write(packed(offset, length, document_id, key, digest.encode()))
                number += 1
            self._parts[warc] = place, number
            place += number * size
        self._file.flush()


def _positions(session: Session, item: Item, name: str | None) -> Iterator[tuple[Any, ...]]:
    """Yield file, offset, document, length, key and digest of each record that a row names, in order."""
    visited = (Visit.warc, Visit.warc_offset, Visit.document_id, Visit.warc_length, Document.key, Visit.digest)
    documents, inherited = documents_of(session, item), (InheritedRecord.item_id == item.id,)
    queries: tuple[tuple[Any, Any, Any], ...] = (
        (Document, documents, _named_records(Document, Document.key)),
        (Document, documents, _rendered_records(Document, Document.key)),
        (Visit, (Visit.item_id == item.id,), select(*visited).join(Document, Document.id == Visit.document_id)),
        (InheritedRecord, inherited, _named_records(InheritedRecord, InheritedRecord.url)),
        (InheritedRecord, inherited, _rendered_records(InheritedRecord, InheritedRecord.url)),
    )
    # Python compares names by character, as does this collation.
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    streams = []
    for source, of_item, query in queries:
        _, offset, identity, *_ = query.selected_columns
        chosen = query.where(*of_item, source.warc.is_not(None), offset.is_not(None))
        if name is not None:
            chosen = chosen.where(source.warc == name)
        by_name = collate(source.warc, "C") if is_postgresql else source.warc
        ordered = chosen.order_by(by_name, offset, identity).execution_options(yield_per=ROWS_PER_FETCH)
        # Rows of the connection cost half of those of the session.
        streams.append(_with_keys(session.connection().execute(ordered)))
    return merge(*streams)


def _named_records(source: Any, key: Any) -> Select[Any]:
    return select(source.warc, source.warc_offset, source.id, source.warc_length, key, source.digest)


def _rendered_records(source: Any, key: Any) -> Select[Any]:
    return select(source.warc, source.rendered_offset, source.id, literal(0), key, null())


def _with_keys(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Replace the URL of an inherited record by its key."""
    for warc, offset, identity, length, key, digest in rows:
        yield warc, offset, identity, length or 0, key_of(key) if isinstance(key, str) else bytes(key), digest or ""
