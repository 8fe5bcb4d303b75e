"""WARC records of an export: the item's own, those of other items that hold its bodies, and one index of all.

Damaged records are skipped and reported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import new
from itertools import chain, count
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.core.config import Config
from tarantula.models import Item
from tarantula.store import warc_records
from tarantula.store.captures import MissingCapture, documents_without_body
from tarantula.store.cdxj import IndexRow, ReferredRecord, own_records, referred_records, write_cdxj
from tarantula.store.warc_reader import (
    READ_CHUNK_BYTES,
    ByteSink,
    DamagedRecord,
    copy_bytes,
    end_of_record,
    open_record,
)
from tarantula.store.warc_writer import new_record_id


class ExportProgress:
    """Keeps the sentences, and shows nothing; a command's own shows both."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def begin(self, stage: str, total: int | None = None) -> None:
        """Hear what is done now, and how much of it there is, in bytes or pieces."""

    def advance(self, amount: int = 1) -> None:
        """Hear that so much more is done."""

    def warn(self, sentence: str) -> None:
        """Hear what was wrong with one document; the others go on."""
        self.problems.append(sentence)


class HashingFile:
    """Hands bytes on, and knows how many they were and their hash."""

    def __init__(self, file: IO[bytes], algorithm: str) -> None:
        self._file = file
        self._hash = new(algorithm)
        self.size = 0

    def write(self, data: bytes, /) -> int:
        """Take some bytes."""
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    @property
    def hexdigest(self) -> str:
        """The hash of all that was written."""
        return self._hash.hexdigest()


GZIP_MAGIC = b"\x1f\x8b\x08"
"""How a record begins: it is a gzip member."""
PAST_END = 1 << 62
"""Past the end of any file."""


@dataclass(slots=True)
class SkippedRanges:
    """What was passed over in a file."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    """How many bytes are missing after each of them."""

    def add(self, start: int, end: int) -> None:
        """Pass over a stretch that lies behind the others."""
        self.missing.append((self.missing[-1] if self.missing else 0) + end - start)
        self.starts.append(start)
        self.ends.append(end)

    def place(self, offset: int) -> int | None:
        """Return where a record is now, or nothing if it was passed over."""
        before = bisect_right(self.starts, offset)
        if not before:
            return offset
        return None if offset < self.ends[before - 1] else offset - self.missing[before - 1]


def copy_whole_records(path: Path, target: ByteSink, watcher: ExportProgress) -> SkippedRanges:
    """Copy a file record by record, and say where one is broken."""
    gaps = SkippedRanges()
    size = path.stat().st_size
    offset = 0
    with open_record(path, 0) as source:
        while offset < size:
            try:
                end = end_of_record(source, offset)
            except DamagedRecord as error:
                watcher.warn(f"{error} That record is left out.")
                end = _next_record(source, offset + 1, size)
                gaps.add(offset, end)
            else:
                copy_bytes(source, offset, end, target)
            watcher.advance(end - offset)
            offset = end
    gaps.add(size, PAST_END)
    return gaps


def _next_record(file: BinaryIO, start: int, size: int) -> int:
    """Return where the next whole record begins, or the file ends."""
    while (start := _find_magic(file, start)) < size:
        try:
            end_of_record(file, start)
        except DamagedRecord:
            start += 1
        else:
            break
    return min(start, size)


def _find_magic(file: BinaryIO, start: int) -> int:
    file.seek(start)
    tail = b""
    while piece := file.read(READ_CHUNK_BYTES):
        found = (tail + piece).find(GZIP_MAGIC)
        if found >= 0:
            return start - len(tail) + found
        start += len(piece)
        tail = (tail + piece)[1 - len(GZIP_MAGIC) :]
    return start


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
