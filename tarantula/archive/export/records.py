"""WARC records of an export: the item's own, those of other items that hold its bodies, and one index of all.

Damaged records are skipped, and everything that is left out is listed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import new
from itertools import chain, count
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.archive.omissions import Omission, OmissionCause, cause_of
from tarantula.core.config import Config
from tarantula.core.urls import canonical, key_of
from tarantula.models import Document, Item
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
    target_url,
)
from tarantula.store.warc_writer import new_record_id
from tarantula.store.withholding import withheld_urls

GZIP_MAGIC = b"\x1f\x8b\x08"
"""First bytes of a gzip member, and so of a record."""
PAST_END = 1 << 62
"""Larger than any file offset."""


class ExportProgress:
    """Collects what an export leaves out; commands override the methods to show progress."""

    def __init__(self) -> None:
        self._omissions: dict[tuple[str, str], Omission] = {}
        self.withheld = 0
        """Number of records left out because their URL is withheld, which is no omission."""

    @property
    def omissions(self) -> list[Omission]:
        """Everything that was left out so far, each document once."""
        return list(self._omissions.values())

    def begin(self, stage: str, total: int | None = None) -> None:
        """Start a stage with *total* bytes or pieces."""

    def advance(self, amount: int = 1) -> None:
        """Report progress within the stage."""

    def leave_out(self, url: str, cause: str, reason: str) -> None:
        """Report that a document, or with an empty *url* a record, is left out; the export continues.

        An export that leaves something out is only kept if that is allowed.
        """
        self._omissions.setdefault((url, "" if url else reason), Omission(url, cause, reason))


class HashingFile:
    """File wrapper that counts and hashes what is written."""

    def __init__(self, file: IO[bytes], algorithm: str) -> None:
        self._file = file
        self._hash = new(algorithm)
        self.size = 0

    def write(self, data: bytes, /) -> int:
        """Append bytes."""
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    @property
    def hexdigest(self) -> str:
        """Hash of everything written."""
        return self._hash.hexdigest()


@dataclass(slots=True)
class SkippedRanges:
    """Byte ranges of a file that were not copied."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    skipped_bytes: list[int] = field(default_factory=list)
    """Total number of skipped bytes up to the end of each range."""
    reasons: list[str] = field(default_factory=list)
    unnamed: set[int] = field(default_factory=set)
    """Numbers of the ranges in which no document was found yet."""
    cause: OmissionCause = OmissionCause.DAMAGED

    def add(self, start: int, end: int, reason: str) -> None:
        """Add a range behind the others."""
        self.skipped_bytes.append((self.skipped_bytes[-1] if self.skipped_bytes else 0) + end - start)
        self.starts.append(start)
        self.ends.append(end)
        self.reasons.append(reason)

    def new_offset(self, offset: int) -> int | None:
        """Return the offset of a record in the copy; None if it was skipped."""
        before = bisect_right(self.starts, offset)
        if not before:
            return offset
        return None if offset < self.ends[before - 1] else offset - self.skipped_bytes[before - 1]

    def reason_at(self, offset: int) -> str:
        """Return why the record at an offset was skipped."""
        number = bisect_right(self.starts, offset) - 1
        self.unnamed.discard(number)
        return self.reasons[number]


def copy_whole_records(
    path: Path, target: ByteSink, progress: ExportProgress, withheld: Container[bytes] = ()
) -> SkippedRanges:
    """Copy the complete records of a file, without those about *withheld* URLs (keys); return the skipped ranges."""
    skipped = SkippedRanges()
    size = path.stat().st_size
    offset = 0
    with open_record(path, 0) as source:
        while offset < size:
            try:
                end = end_of_record(source, offset)
            except DamagedRecord as error:
                end = _next_record(source, offset + 1, size)
                skipped.unnamed.add(len(skipped.starts))
                skipped.add(offset, end, str(error))
            else:
                if withheld and _is_withheld(source, offset, withheld):
                    progress.withheld += 1
                    skipped.add(offset, end, "It is withheld.")
                else:
                    copy_bytes(source, offset, end, target)
            progress.advance(end - offset)
            offset = end
    skipped.add(size, PAST_END, f"{path} ends before it.")
    return skipped


def _is_withheld(source: BinaryIO, offset: int, withheld: Container[bytes]) -> bool:
    url = target_url(source, offset)
    return url is not None and key_of(canonical(url) or url) in withheld


def _next_record(file: BinaryIO, start: int, size: int) -> int:
    """Return the offset of the next complete record, or the end of the file."""
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


def _nothing_copied(path: Path) -> SkippedRanges:
    return SkippedRanges([0], [PAST_END], [0], [f"{path} is missing."], cause=OmissionCause.MISSING)


class ExportFile(ByteSink, Protocol):
    """An open file of an export."""

    size: int


class ExportSink(Protocol):
    """Target of an export, written one file at a time."""

    def open(self, name: str, size: int) -> AbstractContextManager[ExportFile]:
        """Open a file of about this size."""


class ExportRecords:
    """Writes the WARC records of one item to an export."""

    def __init__(
        self, session: Session, installation: Config, item: Item, sink: ExportSink, progress: ExportProgress
    ) -> None:
        self._session = session
        self._items = installation.items
        self._file_size = installation.warc_size
        self._item = item
        self._sink = sink
        self._progress = progress
        self._skipped: dict[str, SkippedRanges] = {}
        self._withheld = withheld_urls(session)

    def write(self, index: Path) -> int:
        """Write the records, and their CDXJ index to *index*; return the number of index lines."""
        files = sorted((self._items / self._item.urn / "archive").glob("*.warc.gz"))
        self._progress.begin("records", sum(path.stat().st_size for path in files))
        for path in files:
            with self._sink.open(f"archive/{path.name}", path.stat().st_size) as target:
                self._skipped[path.name] = copy_whole_records(path, target, self._progress, self._withheld)
        for document in documents_without_body(self._session, self._item):
            if bytes(document.key) not in self._withheld:
                self._progress.leave_out(document.url, OmissionCause.MISSING, str(MissingCapture(document)))
        self._progress.withheld += self._withheld_referred()
        lines = write_cdxj(chain(self._own_rows(), self._copied_rows()), index)
        for ranges in self._skipped.values():
            for number in sorted(ranges.unnamed):
                # Such as a request, a rendered page, or what a killed collector left.
                self._progress.leave_out("", OmissionCause.DAMAGED, ranges.reasons[number])
        return lines

    def _withheld_referred(self) -> int:
        """Return the number of records of other items that are left out because their URL is withheld."""
        own = select(func.count()).where(Document.item_id == self._item.id, Document.refers_to_id.is_not(None))
        return self._session.scalar(own.where(Document.key.in_(list(self._withheld)))) or 0

    def _own_rows(self) -> Iterator[IndexRow]:
        for row in own_records(self._session, self._item):
            ranges = self._skipped.get(row.filename)
            if ranges is None:
                path = self._items / self._item.urn / "archive" / row.filename
                ranges = self._skipped[row.filename] = _nothing_copied(path)
            if (offset := ranges.new_offset(row.offset)) is not None:
                yield row._replace(offset=offset)
            else:
                self._progress.leave_out(row.url, ranges.cause, ranges.reason_at(row.offset))

    def _copied_rows(self) -> Iterator[IndexRow]:
        """Copy the records of other items that hold bodies of this one, and yield their index rows."""
        self._progress.begin("bodies of earlier items")
        found = referred_records(self._session, self._item)
        first = next(found, None)
        waiting = chain((first,), found) if first is not None else iter(())
        numbers = count(1)
        for entry in waiting:
            name = f"{self._item.urn}-referred-{next(numbers):05}.warc.gz"
            with self._sink.open(f"archive/{name}", self._file_size) as target:
                target.write(self._warcinfo(name))
                for record in chain((entry,), waiting):
                    yield from self._copy(record, name, target)
                    if target.size >= self._file_size:
                        break

    def _warcinfo(self, name: str) -> bytes:
        info = {
            "software": f"Tarântula/{__version__}",
            "isPartOf": self._item.urn,
            "description": f"Records of earlier items that have bodies of {self._item.urn}",
        }
        return warc_records.warcinfo_record(new_record_id(), warc_records.warc_date(datetime.now(UTC)), name, info)

    def _copy(self, record: ReferredRecord, name: str, target: ExportFile) -> Iterator[IndexRow]:
        row, offset = record.row, target.size
        path = self._items / record.urn / "archive" / row.filename
        if self._copy_record(path, row.offset, row.url, "the body", target):
            if record.rendered_offset is not None:
                # It has no index line, as in an item's own files.
                self._copy_record(path, record.rendered_offset, row.url, "the rendered page", target)
            self._progress.advance(target.size - offset)
            yield row._replace(filename=name, offset=offset)

    def _copy_record(self, path: Path, offset: int, url: str, content: str, target: ExportFile) -> bool:
        try:
            with open_record(path, offset) as source:
                copy_bytes(source, offset, end_of_record(source, offset), target)
        except DamagedRecord as error:
            self._progress.leave_out(url, cause_of(error), f"{error} It has {content}.")
            return False
        return True
