"""The whole records of a WARC file; a broken one is passed over, and only that one."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tarantula.archive.export.records_part_watching import ExportProgress
from tarantula.store.warc_reader import (
    READ_CHUNK_BYTES,
    ByteSink,
    DamagedRecord,
    copy_bytes,
    end_of_record,
    open_record,
)

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
