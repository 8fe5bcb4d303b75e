"""WARC records of an export: the item's own, those of other items that hold its bodies, and one index of all.

Damaged records are skipped, and everything that is left out is listed.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import new
from itertools import chain, count
from pathlib import Path
from typing import IO, BinaryIO, Protocol, TypeVar

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.archive.omissions import Omission, OmissionCause, cause_of
from tarantula.core.config import Config
from tarantula.core.urls import canonical, key_of
from tarantula.fetch.exchange import DownloadError
from tarantula.models import Document, Item
from tarantula.store import warc_records
from tarantula.store.captures import MissingCapture, documents_without_body
from tarantula.store.cdxj import (
    BorrowedBody,
    IndexRow,
    ReferredRecord,
    borrowed_bodies,
    own_records,
    referred_records,
    revisits,
    write_cdxj,
)
from tarantula.store.warc_reader import (
    MAX_OPEN_FILES,
    READ_CHUNK_BYTES,
    ByteSink,
    DamagedRecord,
    WarcRecordReader,
    copy_bytes,
    end_of_record,
    framed_payload,
    open_record,
    read_http_head,
    target_url,
)
from tarantula.store.warc_writer import new_record_id
from tarantula.store.withholding import withheld_urls

Record = TypeVar("Record")

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
    source: BinaryIO, size: int, target: ByteSink, progress: ExportProgress, withheld: Container[bytes] = ()
) -> SkippedRanges:
    """Copy the complete records of a file of *size* bytes, without those about *withheld* URLs (keys).

    Return the skipped ranges.
    """
    skipped = SkippedRanges()
    offset = 0
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
    skipped.add(size, PAST_END, f"{source.name} ends before it.")
    return skipped


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _is_withheld(source: BinaryIO, offset: int, withheld: Container[bytes]) -> bool:
    url = target_url(source, offset)
    return url is not None and key_of(canonical(url) or url) in withheld


def _next_record(file: BinaryIO, start: int, size: int) -> int:
    """Return the offset of the next complete record, or the end of the file."""
    while (start := _find_magic(file, start, size)) < size:
        try:
            end_of_record(file, start)
        except DamagedRecord:
            start += 1
        else:
            break
    return min(start, size)


def _find_magic(file: BinaryIO, start: int, size: int) -> int:
    tail = b""
    while start < size:
        file.seek(start)
        try:
            piece = file.read(READ_CHUNK_BYTES)
        except OSError:
            # A bad sector: what follows may be whole.
            tail, start = b"", start + READ_CHUNK_BYTES
            continue
        if not piece:
            break
        found = (tail + piece).find(GZIP_MAGIC)
        if found >= 0:
            return start - len(tail) + found
        start += len(piece)
        tail = (tail + piece)[1 - len(GZIP_MAGIC) :]
    return start


def _nothing_copied(path: Path, error: DamagedRecord) -> SkippedRanges:
    cause = cause_of(error)
    reason = f"{path} is missing." if cause == OmissionCause.MISSING else str(error)
    return SkippedRanges([0], [PAST_END], [0], [reason], cause=cause)


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
        self._lost: dict[tuple[str, int], tuple[str, str]] = {}
        """Cause and reason of each record that should have been copied and was not, by file and offset."""
        self._opened: dict[str, BinaryIO] = {}

    def write(self, index: Path) -> int:
        """Write the records, and their CDXJ index to *index*; return the number of index lines."""
        try:
            return self._write(index)
        finally:
            for file in self._opened.values():
                file.close()

    def _write(self, index: Path) -> int:
        files = sorted((self._items / self._item.urn / "archive").glob("*.warc.gz"))
        self._progress.begin("records", sum(_size_of(path) for path in files))
        for path in files:
            self._copy_file(path)
        for document in documents_without_body(self._session, self._item):
            if bytes(document.key) not in self._withheld:
                self._progress.leave_out(document.url, OmissionCause.MISSING, str(MissingCapture(document)))
        self._progress.withheld += self._withheld_referred()
        lines = write_cdxj(chain(self._own_rows(), self._copied_rows(), self._borrowed_rows()), index)
        self._leave_out_referring()
        for ranges in self._skipped.values():
            for number in sorted(ranges.unnamed):
                # Such as a request, a rendered page, or what a killed collector left.
                self._progress.leave_out("", OmissionCause.DAMAGED, ranges.reasons[number])
        return lines

    def _withheld_referred(self) -> int:
        """Return the number of records of other items that are left out because their URL is withheld."""
        own = select(func.count()).where(Document.item_id == self._item.id, Document.refers_to_id.is_not(None))
        return self._session.scalar(own.where(Document.key.in_(list(self._withheld)))) or 0

    def _copy_file(self, path: Path) -> None:
        """Copy the complete records of a file of the item."""
        try:
            source = open_record(path, 0)
        except DamagedRecord as error:
            self._skipped[path.name] = _nothing_copied(path, error)
            return
        with source:
            size = os.fstat(source.fileno()).st_size
            with self._sink.open(f"archive/{path.name}", size) as target:
                self._skipped[path.name] = copy_whole_records(source, size, target, self._progress, self._withheld)

    def _own_rows(self) -> Iterator[IndexRow]:
        for row in own_records(self._session, self._item):
            ranges = self._skipped.get(row.filename)
            if ranges is None:
                ranges = self._skipped[row.filename] = self._missing_file(row.filename)
            offset = ranges.new_offset(row.offset)
            if offset is None:
                self._lose(row, ranges.cause, ranges.reason_at(row.offset))
            elif not self._is_record(row):
                reason = f"{self._path(row.filename)} has no complete record at offset {row.offset}: none begins there."
                self._lose(row, OmissionCause.DAMAGED, reason)
            else:
                yield row._replace(offset=offset)

    def _lose(self, row: IndexRow, cause: str, reason: str) -> None:
        self._progress.leave_out(row.url, cause, reason)
        self._lost[row.filename, row.offset] = cause, reason

    def _path(self, name: str) -> Path:
        return self._items / self._item.urn / "archive" / name

    def _missing_file(self, name: str) -> SkippedRanges:
        """Return why no record of a file was copied that rows name, and that its folder does not list."""
        path = self._path(name)
        try:
            open_record(path, 0).close()
        except DamagedRecord as error:
            return _nothing_copied(path, error)
        # It has been restored since.
        return _nothing_copied(path, DamagedRecord("{path} was not there.", path=path))

    def _is_record(self, row: IndexRow) -> bool:
        """Whether a record begins where a row says: a file may have been replaced by another."""
        file = self._opened.get(row.filename)
        if file is None:
            if len(self._opened) == MAX_OPEN_FILES:
                self._opened.pop(next(iter(self._opened))).close()
            file = self._opened[row.filename] = open_record(self._path(row.filename), 0)
        return os.pread(file.fileno(), len(GZIP_MAGIC), row.offset) == GZIP_MAGIC

    def _copied_rows(self) -> Iterator[IndexRow]:
        """Copy the records of other items that hold bodies of this one, and yield their index rows."""
        self._progress.begin("bodies of earlier items")
        yield from self._write_files("referred", referred_records(self._session, self._item), self._copy)

    def _borrowed_rows(self) -> Iterator[IndexRow]:
        """Write a record for each document whose body another record has, under its own URL; yield their index rows."""
        found = borrowed_bodies(self._session, self._item)
        with closing(WarcRecordReader()) as reader:
            yield from self._write_files("borrowed", found, partial(self._write_borrowed, reader))

    def _write_files(
        self, kind: str, records: Iterator[Record], write: Callable[[Record, str, ExportFile], Iterator[IndexRow]]
    ) -> Iterator[IndexRow]:
        """Write records to files of their own, each of about the usual size; yield their index rows."""
        numbers = count(1)
        for entry in records:
            name = f"{self._item.urn}-{kind}-{next(numbers):05}.warc.gz"
            with self._sink.open(f"archive/{name}", self._file_size) as target:
                target.write(self._warcinfo(name))
                for record in chain((entry,), records):
                    yield from write(record, name, target)
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
        if self._copy_record(path, row, row.offset, "the body", target):
            if record.rendered_offset is not None:
                # It has no index line, as in an item's own files.
                self._copy_record(path, row, record.rendered_offset, "the rendered page", target)
            self._progress.advance(target.size - offset)
            yield row._replace(filename=name, offset=offset)

    def _copy_record(self, path: Path, row: IndexRow, offset: int, content: str, target: ExportFile) -> bool:
        try:
            with open_record(path, offset) as source:
                copy_bytes(source, offset, end_of_record(source, offset), target)
        except DamagedRecord as error:
            self._lost[row.filename, row.offset] = cause_of(error), f"{error} It has {content}."
            return False
        return True

    def _write_borrowed(
        self, reader: WarcRecordReader, record: BorrowedBody, name: str, target: ExportFile
    ) -> Iterator[IndexRow]:
        row, path = record.row, self._items / record.urn / "archive" / record.row.filename
        try:
            found = reader.read(str(path), row.offset, row.length)
            # A revisit after a 304 has no head.
            head = (read_http_head(self._path(record.own[0]), record.own[1]) if record.own else b"") or found.head
            body = framed_payload(found)
            if warc_records.warc_digest(body) != row.digest:
                raise DamagedRecord("{path} has another body at offset {offset}.", path=path, offset=row.offset)
            date = warc_records.warc_date(row.collected_at)
            made = warc_records.borrowed_record(new_record_id(), row.url, date, head, body, row.digest)
        except (DamagedRecord, DownloadError) as error:
            self._progress.leave_out(row.url, cause_of(error), f"{error} It has the body.")
            return
        offset = target.size
        target.write(made)
        yield row._replace(filename=name, offset=offset, length=len(made))

    def _leave_out_referring(self) -> None:
        """List the documents whose body is in a record that was not copied."""
        if self._lost:
            for url, name, offset in revisits(self._session, self._item):
                lost = self._lost.get((name, offset))
                if lost is not None and key_of(url) not in self._withheld:
                    self._progress.leave_out(url, *lost)
