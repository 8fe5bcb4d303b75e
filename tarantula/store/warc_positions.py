"""Positions of WARC records that the rows of an item name, to compare files with them."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from itertools import groupby
from operator import itemgetter
from os import pread
from pathlib import Path
from struct import Struct
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Self

from sqlalchemy import Select, collate, literal, null, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.urls import key_of
from tarantula.models import Document, InheritedRecord, Item, Visit
from tarantula.store.document_query import documents_of
from tarantula.store.errors import write_errors
from tarantula.store.warc_check import StoredPosition

ROWS_PER_FETCH = 5000
TEMPORARY_FOLDER = Path(gettempdir())
REGION_BITS = 26
"""Boundaries are sorted by regions of a file with 2 to this power bytes."""
ROWS_IN_MEMORY = 1_000_000
"""Rows whose boundaries are in memory, before they are moved to a temporary file."""


@contextmanager
def _new_file() -> Iterator[IO[bytes]]:
    """Yield a temporary file that stays open, unless there is an error."""
    file = TemporaryFile(prefix="tarantula-verify-")  # noqa: SIM115
    try:
        yield file
    except BaseException:
        file.close()
        raise


class ItemPositions:
    """Positions that the rows of an item give for its files, or for its file *name* only.

    The boundaries of records are copied at once, and suffice for files that are as they were. All columns are copied
    when they are needed first. No transaction stays open while files are read.
    """

    def __init__(self, database: Database, item_id: int, name: str | None = None) -> None:
        self._select = database, item_id, name
        self._boundaries = BoundarySpool(database, item_id, name)
        self._positions: PositionSpool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._boundaries.close()
        if self._positions is not None:
            self._positions.close()

    @property
    def names(self) -> set[str]:
        """Names of the files in which a record is."""
        return self._boundaries.names

    def boundaries(self, name: str) -> Iterator[int]:
        """Yield where records in one file begin and end, in order; see `BoundarySource`."""
        return self._boundaries.boundaries(name)

    def positions(self, name: str) -> Iterator[StoredPosition]:
        """Yield the positions in one file, in order."""
        if self._positions is None:
            self._positions = PositionSpool(*self._select)
        return self._positions.positions(name)


class BoundarySpool:
    """Beginnings and ends of the records that rows name, by file; in a temporary file if there are many.

    The rows are read in the order in which the database has them: sorting them there costs more than all the rest.
    """

    def __init__(self, database: Database, item_id: int, name: str | None = None) -> None:
        """Copy the boundaries in the files of the item *item_id*, or only those in its file *name*."""
        self._regions: defaultdict[str, defaultdict[int, array[int]]] = defaultdict(_new_regions)
        self._spilled: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        """Offset and size in the temporary file, by file and region."""
        with _new_file() as file, write_errors(TEMPORARY_FOLDER), database.reading() as session:
            self._file = file
            self._copy(session, session.get_one(Item, item_id), name)

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    @property
    def names(self) -> set[str]:
        """Names of the files in which a record is."""
        return {*self._regions}

    def boundaries(self, name: str) -> Iterator[int]:
        """Yield twice the offset of each beginning, and of each end twice its offset and one, in order."""
        spilled = {region for known, region in self._spilled if known == name}
        for region in sorted({*self._regions.get(name, ()), *spilled}):
            values = array("q", self._regions[name][region])
            for place, size in self._spilled.get((name, region), ()):
                values.frombytes(pread(self._file.fileno(), size, place))
            yield from sorted(values)

    def _copy(self, session: Session, item: Item, name: str | None) -> None:
        queries: tuple[tuple[Any, Any, Any], ...] = (
            (Document, documents_of(session, item), Document.rendered_offset),
            (Visit, (Visit.item_id == item.id,), null()),
            (InheritedRecord, (InheritedRecord.item_id == item.id,), InheritedRecord.rendered_offset),
        )
        for source, of_item, rendered in queries:
            query = select(source.warc, source.warc_offset, source.warc_length, rendered)
            chosen = query.where(*of_item, source.warc.is_not(None) if name is None else source.warc == name)
            # Rows of the connection cost half of those of the session.
            result = session.connection().execute(chosen.execution_options(yield_per=ROWS_PER_FETCH))
            self._add(result)
        self._file.flush()

    def _add(self, rows: Iterable[Any]) -> None:
        files, shift = self._regions, REGION_BITS
        for number, (warc, offset, length, rendered) in enumerate(rows, 1):
            if not number % ROWS_IN_MEMORY:
                self._spill()
            regions = files[warc]
            if offset is not None:
                regions[offset >> shift].append(offset << 1)
                if length:
                    end = offset + length
                    regions[end >> shift].append(end << 1 | 1)
            if rendered is not None:
                regions[rendered >> shift].append(rendered << 1)

    def _spill(self) -> None:
        """Move the boundaries to the temporary file."""
        for name, regions in self._regions.items():
            for region, values in regions.items():
                self._spilled[name, region].append((self._file.tell(), values.itemsize * len(values)))
                self._file.write(values)
            regions.clear()


def _new_regions() -> defaultdict[int, array[int]]:
    return defaultdict(lambda: array("q"))


class PositionSpool:
    """The records of an item that rows name, with all that a record is compared with, in file order.

    They are copied to a temporary file with one query for each table.
    """

    _POSITION = Struct("<qqq16s48s")

    def __init__(self, database: Database, item_id: int, name: str | None = None) -> None:
        """Copy the positions of the item *item_id*, or only those in its file *name*."""
        self._parts: dict[str, tuple[int, int]] = {}
        with _new_file() as file, write_errors(TEMPORARY_FOLDER), database.reading() as session:
            self._file = file
            self._copy(session, item_id, name)

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

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
