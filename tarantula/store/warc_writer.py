"""WARC file writer: appends exchanges, and starts a new file when one is full."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Self
from uuid import uuid4

from tarantula.core.errors import TarantulaError
from tarantula.fetch.exchange import Exchange
from tarantula.frontier.entry import PreviousCapture
from tarantula.store import warc_records
from tarantula.store.errors import write_errors

WRITE_BUFFER_BYTES = 1 << 20


@dataclass(slots=True, frozen=True)
class StoredRecord:
    """Location of a stored exchange."""

    file: str
    offset: int
    """Offset of the response record."""
    length: int
    digest: str
    """Payload digest, independent of chunked framing."""
    rendered_offset: int | None = None
    refers_to_id: int | None = None
    """The document whose record has the body, if this is a revisit."""


def new_record_id() -> str:
    """Return a unique record id."""
    return f"<urn:uuid:{uuid4()}>"


def utc_now() -> datetime:
    return datetime.now(UTC)


class WarcWriter:
    """Writes WARC files with unique names; the first file is created with the first record.

    An exchange that finds the file at *max_size* or above starts a new one. After a write error, the file is cut after
    the last flushed record, and the writer accepts nothing more.
    """

    def __init__(
        self,
        directory: Path,
        prefix: str,
        info: Mapping[str, str],
        max_size: int = 1_000_000_000,
        *,
        new_id: Callable[[], str] = new_record_id,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._directory = directory
        self._info = info
        self._max_size = max_size
        self._new_id = new_id
        self._now = now
        collector = token_hex(4)
        self._names = (f"{prefix}-{collector}-{number:05}.warc.gz" for number in count(1))
        self._path = directory
        self._file: FileIO | None = None
        self._info_id = ""
        self._flushed = 0
        self._end = 0
        self._pending: list[bytes] = []
        self._failure: TarantulaError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def write(self, exchange: Exchange, rendered: bytes | None = None, digest: str = "") -> StoredRecord:
        """Append a response, its request and the rendered page; call `flush` before publishing the location."""
        self._prepare_file()
        digest = digest or warc_records.payload_digest(exchange)
        name, response_id = self._path.name, self._new_id()
        response = warc_records.response_record(response_id, exchange, self._info_id, digest)
        offset = self._append(response)
        self._append(warc_records.request_record(self._new_id(), exchange, self._info_id, response_id))
        if rendered is None:
            return StoredRecord(name, offset, len(response), digest)
        page = warc_records.conversion_record(self._new_id(), exchange, self._info_id, response_id, rendered)
        return StoredRecord(name, offset, len(response), digest, self._append(page))

    def write_revisit(self, exchange: Exchange, digest: str, earlier: PreviousCapture) -> StoredRecord:
        """Append a revisit record for a response whose body an earlier record has. It has no request record."""
        self._prepare_file()
        record = warc_records.revisit_record(self._new_id(), exchange, digest, earlier)
        return StoredRecord(self._path.name, self._append(record), len(record), digest, refers_to_id=earlier.id)

    def flush(self) -> None:
        """Write all records to the operating system."""
        if self._failure is not None:
            raise self._failure
        if self._file is None or not self._pending:
            return
        try:
            with write_errors(self._path):
                _write_at(self._file, self._flushed, b"".join(self._pending))
        except TarantulaError as error:
            self._fail(error)
            raise
        self._flushed = self._end
        self._pending.clear()

    def sync(self) -> None:
        """Flush, and sync the file to disk."""
        self.flush()
        if self._file is not None:
            with write_errors(self._path):
                os.fsync(self._file)

    def close(self) -> None:
        """Flush and close the file; a later exchange starts another one."""
        if self._file is None:
            return
        try:
            with self._file:
                self.sync()
        finally:
            self._file = None

    def _prepare_file(self) -> None:
        if self._end - self._flushed >= WRITE_BUFFER_BYTES:
            self.flush()
        if self._end >= self._max_size:
            self.close()
        if self._file is None:
            self._open()

    def _open(self) -> None:
        if self._failure is not None:
            raise self._failure
        with write_errors(self._directory):
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = self._create()
            # The lock tells `truncate_damaged_end` that the file is in use.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._flushed = self._end = 0
        self._info_id = self._new_id()
        date = warc_records.warc_date(self._now())
        self._append(warc_records.warcinfo_record(self._info_id, date, self._path.name, self._info))

    def _create(self) -> FileIO:
        for name in self._names:
            self._path = self._directory / name
            with suppress(FileExistsError):
                return FileIO(self._path, "x")
        raise AssertionError("names never end")

    def _append(self, record: bytes) -> int:
        offset = self._end
        self._pending.append(record)
        self._end += len(record)
        return offset

    def _fail(self, failure: TarantulaError) -> None:
        self._failure = failure
        self._pending.clear()
        if self._file is not None:
            with self._file, suppress(OSError):
                self._file.truncate(self._flushed)
            self._file = None


def _write_at(file: FileIO, offset: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        written = os.pwrite(file.fileno(), left, offset)
        left = left[written:]
        offset += written
