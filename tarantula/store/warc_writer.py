"""WARC file writer: appends exchanges, and starts a new file when one is full."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from io import FileIO
from itertools import count
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Self, TypeVar

from tarantula.core.errors import TarantulaError
from tarantula.core.files import sync_path
from tarantula.fetch.exchange import Exchange
from tarantula.frontier.queues import PreviousCapture
from tarantula.store import warc_records
from tarantula.store.errors import DiskFullError, write_errors
from tarantula.store.warc_files import FileSummary

T = TypeVar("T")

WRITE_BUFFER_BYTES = 1 << 20
USER_AGENT = re.compile(rb"^User-Agent:[ \t]*([^\r\n]+)", re.IGNORECASE | re.MULTILINE)
SYNC_INTERVAL_SECONDS = 1.0
"""Interval at which a collector syncs its file to disk, if it has new records."""


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
    # What `str(uuid4())` returns, in a third of the time.
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}>"


def utc_now() -> datetime:
    return datetime.now(UTC)


class WarcWriter:
    """Writes WARC files with unique names; the first file is created with the first record.

    The warcinfo record of a file has the fields of *info*, and the User-Agent of its first request.

    An exchange that finds the file at *max_size* or above starts a new one. After a write error, unless it is a full
    disk that `wait_for_space` waits for, the file is cut after the last flushed record, and the writer accepts nothing
    more.
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
        self._synced = self._flushed = self._end = 0
        self._pending: list[bytes] = []
        self._failure: TarantulaError | None = None
        self.wait_for_space: Callable[[DiskFullError], bool] = lambda _error: False
        """Called when the disk is full: waits, and returns whether to try again."""
        self._digest = sha256()
        self._records = 0
        self._next_sync = 0.0
        self.synced: tuple[str, int] | None = None
        """The current file and the bytes of it that were last synced to disk; the owner resets it likewise."""
        self.opened: list[str] = []
        """Names of the files begun; the owner empties the list when their rows are stored."""
        self.closed: list[FileSummary] = []
        """Complete files, synced to disk; the owner empties the list likewise."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def write(self, exchange: Exchange, rendered: bytes | None = None, digest: str = "") -> StoredRecord:
        """Append a response, its request and the rendered page; call `flush` before publishing the location."""
        self._prepare_file(exchange)
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
        """Append a revisit record for a response whose body an earlier record has.

        Its request follows, unless the same one is stored with the earlier record. So does the head of a 304 response.
        """
        self._prepare_file(exchange)
        revisit_id = self._new_id()
        record = warc_records.revisit_record(revisit_id, exchange, digest, earlier)
        offset = self._append(record)
        unmodified = exchange.not_modified
        if unmodified is not None or exchange.url != earlier.url:
            self._append(warc_records.request_record(self._new_id(), exchange, self._info_id, revisit_id))
        if unmodified is not None:
            self._append(warc_records.not_modified_record(self._new_id(), unmodified, self._info_id, revisit_id))
        return StoredRecord(self._path.name, offset, len(record), digest, refers_to_id=earlier.id)

    def flush(self) -> None:
        """Write all records to the operating system."""
        if self._failure is not None:
            raise self._failure
        if self._file is None or not self._pending:
            return
        content, file = b"".join(self._pending), self._file
        try:
            self._with_space(self._path, lambda: _write_at(file, self._flushed, content))
        except TarantulaError as error:
            self._fail(error)
            raise
        self._flushed = self._end
        self._digest.update(content)
        self._records += len(self._pending)
        self._pending.clear()

    def sync(self) -> None:
        """Flush, and sync the file to disk."""
        self.flush()
        if self._file is not None and self._synced < self._flushed:
            # Not tried again after an error: the system may have dropped the bytes, and the next call would succeed.
            with write_errors(self._path):
                os.fdatasync(self._file)
            self._synced = self._flushed
            self.synced = (self._path.name, self._synced)
            self._next_sync = monotonic() + SYNC_INTERVAL_SECONDS

    def flush_or_sync(self) -> None:
        """Flush; if the last sync is long ago, sync the file too."""
        if monotonic() < self._next_sync:
            self.flush()
        else:
            self.sync()

    def close(self) -> None:
        """Flush and close the file; a later exchange starts another one."""
        if self._file is None:
            return
        try:
            with self._file:
                self.sync()
        finally:
            self._file = None
        self.closed.append(FileSummary(self._path.name, self._end, self._digest.hexdigest(), self._records))

    def _prepare_file(self, exchange: Exchange) -> None:
        if self._end - self._flushed >= WRITE_BUFFER_BYTES:
            self.flush()
        if self._end >= self._max_size:
            self.close()
        if self._file is None:
            self._open(exchange)

    def _open(self, exchange: Exchange) -> None:
        if self._failure is not None:
            raise self._failure
        self._file = self._with_space(self._directory, self._create)
        with write_errors(self._directory):
            # The lock shows `tarantula.store.warc_repair` that the file is in use.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        # The file, the folder ``archive`` and the folder of the item may be new.
        for directory in (self._directory, *self._directory.parents[:2]):
            self._with_space(directory, partial(sync_path, directory))
        self.opened.append(self._path.name)
        self._digest, self._records = sha256(), 0
        self._synced = self._flushed = self._end = 0
        self._info_id = self._new_id()
        date = warc_records.warc_date(self._now())
        # The one that was sent: a publication or a middleware may have set another than that of the installation.
        sent = USER_AGENT.search(exchange.request)
        agent = {"http-header-user-agent": sent[1].decode("latin-1")} if sent else {}
        self._append(warc_records.warcinfo_record(self._info_id, date, self._path.name, {**self._info, **agent}))

    def _with_space(self, path: Path, action: Callable[[], T]) -> T:
        """Do something that needs space on the disk, again and again while `wait_for_space` says so."""
        while True:
            try:
                with write_errors(path):
                    return action()
            except DiskFullError as error:
                if not self.wait_for_space(error):
                    raise

    def _create(self) -> FileIO:
        self._directory.mkdir(parents=True, exist_ok=True)
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
