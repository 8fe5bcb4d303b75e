"""What every export of an item has: its records, those of others that have its bodies, and one index of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Protocol

from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.archive.export.records_part_watching import ExportProgress
from tarantula.archive.export.records_part_whole_records import PAST_END, SkippedRanges, copy_whole_records
from tarantula.core.config import Config
from tarantula.store import warc_records
from tarantula.store.captures import MissingCapture, documents_without_body
from tarantula.store.cdxj import IndexRow, write_cdxj
from tarantula.store.cdxj_part_index import ReferredRecord, own_records, referred_records
from tarantula.store.warc_reader import ByteSink, DamagedRecord, copy_bytes, end_of_record, open_record
from tarantula.store.warc_writer import new_record_id
from tarantula.tables.publications import Item

NOTHING_COPIED = SkippedRanges([0], [PAST_END], [0])


class ExportFile(ByteSink, Protocol):
    """A file of an export, while it is written."""

    size: int


class ExportSink(Protocol):
    """Where an export goes: a file by its name, one at a time."""

    def open(self, name: str, size: int) -> AbstractContextManager[ExportFile]:
        """Begin a file of about this size."""


class ExportRecords:
    """The records of one item, on their way into an export."""

    def __init__(
        self, session: Session, installation: Config, item: Item, sink: ExportSink, watcher: ExportProgress
    ) -> None:
        self._session = session
        self._items = installation.items
        self._file_size = installation.warc_size
        self._item = item
        self._sink = sink
        self._watcher = watcher
        self._gaps: dict[str, SkippedRanges] = {}

    def pack(self, index: Path) -> int:
        """Write the records, and their index to *index*; return how many there are."""
        files = sorted((self._items / self._item.urn / "archive").glob("*.warc.gz"))
        self._watcher.begin("records", sum(path.stat().st_size for path in files))
        for path in files:
            with self._sink.open(f"archive/{path.name}", path.stat().st_size) as target:
                self._gaps[path.name] = copy_whole_records(path, target, self._watcher)
        for document in documents_without_body(self._session, self._item):
            self._watcher.warn(str(MissingCapture(document)))
        return write_cdxj(chain(self._own(), self._referred()), index)

    def _own(self) -> Iterator[IndexRow]:
        for row in own_records(self._session, self._item):
            if row.filename not in self._gaps:
                path = self._items / self._item.urn / "archive" / row.filename
                self._watcher.warn(f"{path} is not there: what only it has is left out.")
                self._gaps[row.filename] = NOTHING_COPIED
            if (offset := self._gaps[row.filename].place(row.offset)) is not None:
                yield row._replace(offset=offset)

    def _referred(self) -> Iterator[IndexRow]:
        """Copy the records of other items that have the bodies of this one, and yield their rows."""
        self._watcher.begin("bodies of earlier items")
        found = referred_records(self._session, self._item)
        first = next(found, None)
        waiting = chain((first,), found) if first is not None else iter(())
        numbers = count(1)
        for entry in waiting:
            name = f"{self._item.urn}-referred-{next(numbers):05}.warc.gz"
            with self._sink.open(f"archive/{name}", self._file_size) as target:
                target.write(self._beginning(name))
                for record in chain((entry,), waiting):
                    yield from self._copy(record, name, target)
                    if target.size >= self._file_size:
                        break

    def _beginning(self, name: str) -> bytes:
        info = {
            "software": f"Tarântula/{__version__}",
            "isPartOf": self._item.urn,
            "description": f"Records of earlier items that have bodies of {self._item.urn}",
        }
        return warc_records.warcinfo_record(new_record_id(), warc_records.warc_date(datetime.now(UTC)), name, info)

    def _copy(self, record: ReferredRecord, name: str, target: ExportFile) -> Iterator[IndexRow]:
        row, offset = record.row, target.size
        path = self._items / record.urn / "archive" / row.filename
        if self._copy_record(path, row.offset, f"the body of {row.url}", target):
            if record.rendered_offset is not None:
                # It has no line in the index, as in an item's own files.
                self._copy_record(path, record.rendered_offset, f"what a browser made of {row.url}", target)
            self._watcher.advance(target.size - offset)
            yield row._replace(filename=name, offset=offset)

    def _copy_record(self, path: Path, offset: int, content: str, target: ExportFile) -> bool:
        try:
            with open_record(path, offset) as source:
                copy_bytes(source, offset, end_of_record(source, offset), target)
        except DamagedRecord as error:
            self._watcher.warn(f"{error} It has {content}, which is left out.")
            return False
        return True
