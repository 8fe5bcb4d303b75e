"""Check of a whole WARC file: its digest, each of its records, and the positions that rows of the database name."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from errno import EBADMSG, EIO, EISDIR, ELOOP, ENOENT, ENOTDIR
from functools import partial
from hashlib import sha1, sha256
from io import FileIO
from os import pread
from pathlib import Path
from typing import NamedTuple, Protocol

from isal import isal_zlib

from tarantula.core.errors import TarantulaError
from tarantula.core.files import forget_cached
from tarantula.core.urls import key_of
from tarantula.fetch.exchange import DownloadError
from tarantula.fetch.response import END_OF_HEAD, parse_head
from tarantula.models import BodyProblem
from tarantula.store.warc_reader import GZIP_WBITS, IsalError, StoredResponse
from tarantula.store.warc_records import is_digest_of, payload_digest

CHUNK_BYTES = 1 << 20
"""Bytes of one read, and the most that is decompressed at a time."""
FIRST_PIECE_BYTES = 1 << 10
"""Bytes that are decompressed first of a record whose length no row has: most requests are shorter."""
NEXT_PIECE_BYTES = 1 << 16
MAX_JOINED_BYTES = 1 << 24
"""Largest record that is in memory as a whole, so that the digest of a chunked body can be compared."""
GZIP_MAGIC = b"\x1f\x8b\x08"
END_OF_RECORD = b"\r\n\r\n"
NO_FILE = frozenset({ENOENT, ENOTDIR, EISDIR, ELOOP})
"""Errors of opening where there is no file: nothing, a directory, or a symbolic link that leads nowhere."""
EUCLEAN = 117
"""Error of XFS and ext4 for structures that differ from their checksum; `errno` has it on Linux only."""
MEDIA_ERRORS = frozenset({EIO, EBADMSG, EUCLEAN})
"""Errors of reading that say that the disk has lost bytes."""
ROW_RECORD_TYPES = frozenset({b"response", b"revisit", b"conversion"})
"""WARC-Type of the records that rows name."""


class ReadableFile(Protocol):
    """An open file."""

    def seek(self, offset: int, /) -> int:
        """Continue at an offset."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; empty at the end."""


ReadCallback = Callable[[int], None]
"""Called with the number of bytes of each read; it may wait, or raise an exception to stop."""


class StoredPosition(NamedTuple):
    """A record that a row names."""

    offset: int
    length: int
    """0 if the row does not have it."""
    document_id: int
    key: bytes
    """Of the URL."""
    digest: bytes
    """Of the payload; empty if the row does not have it."""


PositionSource = Callable[[], Iterable[StoredPosition]]
"""Returns the records that rows name, in file order; it is called again if the file is damaged."""

BoundarySource = Callable[[], Iterable[int]]
"""Returns, in order, twice the offset where each record that rows name begins, and twice that of its end plus one."""


class LostBodies:
    """Rows whose records cannot be read, in little memory: a lost file may have had a million."""

    def __init__(self) -> None:
        self._values = array("q")

    def add(self, position: StoredPosition, problem: BodyProblem) -> None:
        """Add a row."""
        self._values.extend((position.document_id, position.offset, _PROBLEMS.index(problem)))

    def __len__(self) -> int:
        return len(self._values) // 3

    def __iter__(self) -> Iterator[tuple[int, int, BodyProblem]]:
        """Yield document id, offset and problem of each."""
        for start in range(0, len(self._values), 3):
            document_id, offset, problem = self._values[start : start + 3]
            yield document_id, offset, _PROBLEMS[problem]


_PROBLEMS = tuple(BodyProblem)


class FileCheck(NamedTuple):
    """Result of reading a file."""

    size: int | None
    """Bytes; None if the file is missing."""
    sha256: str
    records: int | None
    """None if the digest of the file showed that they are as they were."""
    problem: str
    """The first problem; empty if there is none."""
    lost: LostBodies


class UnreadableFile(TarantulaError):
    """A file cannot be read, for a reason that says nothing about its content."""


class DamagedFile(Exception):
    """A file, or one of its records, is not as it should be."""

    def __init__(self, text: str, problem: BodyProblem = BodyProblem.UNREADABLE) -> None:
        super().__init__(text)
        self.problem = problem


def check_file(
    path: Path,
    positions: PositionSource,
    size: int | None = None,
    digest: str | None = None,
    on_read: ReadCallback = lambda _: None,
    *,
    full: bool = False,
    boundaries: BoundarySource | None = None,
) -> FileCheck:
    """Read a file once from the disk, and compare it with the rows and, if known, its *size* and SHA-256 *digest*.

    If the digest is known, the records are not decompressed unless *full*: the rows must name the beginnings and ends
    of gzip members. For this their *boundaries* suffice, if there is a cheaper source of them. Otherwise each record is
    compared with its digest and its rows. A damaged file is read again, record by record, to find out which rows have
    lost their records. Raise `UnreadableFile` if it cannot be read for a reason that says nothing about its content.
    """
    try:
        with FileIO(path) as file:
            # What its writer left in memory may differ from what the disk has.
            forget_cached(file.fileno())
            checked = boundaries or partial(_boundaries, positions)
            return _check_open(file, positions, checked, size, digest, on_read, full or digest is None)
    except OSError as error:
        if error.errno not in NO_FILE:
            raise UnreadableFile(
                "{path} cannot be read ({error}). Correct this, and verify again.", path=path, error=error.strerror
            ) from error
        problem = "The file is missing." if error.errno == ENOENT else f"There is no file: {error.strerror}."
    lost = LostBodies()
    for position in positions():
        lost.add(position, BodyProblem.MISSING)
    return FileCheck(None, "", None, problem, lost)


def _check_open(
    file: FileIO,
    positions: PositionSource,
    boundaries: BoundarySource,
    size: int | None,
    digest: str | None,
    on_read: ReadCallback,
    full: bool,
) -> FileCheck:
    sha, lost, records, problem = sha256(), LostBodies(), None, ""
    members = None if full else _MemberCheck(file, boundaries())

    def check_chunk(chunk: bytes) -> None:
        sha.update(chunk)
        if members is not None:
            members.feed(chunk)
        on_read(len(chunk))

    stream = _Stream(file, CHUNK_BYTES, check_chunk)
    try:
        if full:
            records = _check_records(stream, iter(positions()))
        else:
            stream.read_to_end()
        _check_whole(stream.size, sha.hexdigest(), size, digest)
        if members is not None and not members.is_sound():
            _check_positions(file, positions(), stream.size)
    except DamagedFile as damage:
        problem = str(damage)
        with suppress(DamagedFile):
            stream.read_to_end()
        for position in positions():
            if (found := _problem_at(file, position)) is not None:
                lost.add(position, found)
            on_read(position.length)
    return FileCheck(stream.size, sha.hexdigest(), records, problem, lost)


def _check_whole(size: int, digest: str, stored_size: int | None, stored_digest: str | None) -> None:
    if stored_size is not None and size != stored_size:
        raise DamagedFile(f"The file has {size:,} bytes instead of {stored_size:,}.")
    if stored_digest is not None and digest != stored_digest:
        raise DamagedFile("The digest of the file is not the stored one.")


class _Stream:
    """Sequential reader that hands out pieces of its chunks without copying them."""

    def __init__(
        self, file: ReadableFile, chunk_bytes: int, on_chunk: Callable[[bytes], None] = lambda _: None
    ) -> None:
        self._file = file
        self._chunk_bytes = chunk_bytes
        self._on_chunk = on_chunk
        self._chunk = memoryview(b"")
        self._place = 0
        self.size = 0
        """Bytes read so far."""

    @property
    def offset(self) -> int:
        """Offset of the next piece."""
        return self.size - len(self._chunk) + self._place

    def take(self, most: int) -> memoryview:
        """Return the next bytes, at most *most*; empty at the end."""
        if self._place == len(self._chunk):
            self._read()
        piece = self._chunk[self._place : self._place + most]
        self._place += len(piece)
        return piece

    def give_back(self, number: int) -> None:
        """Unread the last *number* bytes of the last piece."""
        self._place -= number

    def read_to_end(self) -> None:
        """Read the rest."""
        while self._read():
            pass

    def _read(self) -> int:
        try:
            data = self._file.read(self._chunk_bytes)
        except OSError as error:
            if error.errno not in MEDIA_ERRORS:
                raise
            raise DamagedFile(f"The disk reports an error after {self.size:,} bytes.") from error
        self.size += len(data)
        self._chunk, self._place = memoryview(data), 0
        self._on_chunk(data)
        return len(data)


def _check_records(stream: _Stream, positions: Iterator[StoredPosition]) -> int:
    """Read record after record and compare them with the rows; return their number."""
    records = 0
    wanted = next(positions, None)
    while True:
        start = stream.offset
        if wanted is not None and wanted.offset < start:
            raise DamagedFile(f"No record begins at offset {wanted.offset}.")
        length = wanted.length if wanted is not None and wanted.offset == start else 0
        record = _read_member(stream, start, length)
        if record is None:
            break
        record.check()
        while wanted is not None and wanted.offset == start:
            record.compare(wanted, stream.offset - start)
            wanted = next(positions, None)
        records += 1
    if wanted is not None:
        raise DamagedFile(f"The file ends before the record at offset {wanted.offset}.")
    return records


class _MemberCheck:
    """Comparison of boundaries that rows name with those of the gzip members, while the file is read."""

    def __init__(self, file: FileIO, boundaries: Iterable[int]) -> None:
        self._file = file
        self._left = iter(boundaries)
        self._next = next(self._left, None)
        self._size = 0
        self._is_sound = True

    def feed(self, chunk: bytes) -> None:
        """Compare the boundaries in the next bytes of the file."""
        begin, size = self._size, self._size + len(chunk)
        self._size = size
        boundary, left, starts = self._next, self._left, chunk.startswith
        # Those within the last two bytes are left for the next chunk.
        last = size - len(GZIP_MAGIC)
        while boundary is not None and (offset := boundary >> 1) <= last and self._is_sound:
            self._is_sound = starts(GZIP_MAGIC, offset - begin) if offset >= begin else self._is_member(offset)
            boundary = next(left, None)
        self._next = boundary

    def is_sound(self) -> bool:
        """Return, at the end of the file, whether members begin and end at all boundaries."""
        while self._is_sound and self._next is not None:
            # Only the end of a record may be that of the file.
            self._is_sound = self._next == self._size << 1 | 1
            self._next = next(self._left, None)
        return self._is_sound

    def _is_member(self, offset: int) -> bool:
        return pread(self._file.fileno(), len(GZIP_MAGIC), offset) == GZIP_MAGIC


def _boundaries(positions: PositionSource) -> list[int]:
    found = []
    for position in positions():
        found.append(position.offset << 1)
        if position.length:
            found.append(position.offset + position.length << 1 | 1)
    return sorted(found)


def _check_positions(file: FileIO, positions: Iterable[StoredPosition], size: int) -> None:
    """Name the first row that does not name the beginning and the end of gzip members."""

    def is_member(offset: int) -> bool:
        return pread(file.fileno(), len(GZIP_MAGIC), offset) == GZIP_MAGIC

    for position in positions:
        end = position.offset + position.length
        if not is_member(position.offset):
            raise DamagedFile(f"No record begins at offset {position.offset}.")
        if position.length and end != size and not is_member(end):
            raise DamagedFile(f"The record at offset {position.offset} has another length than its row.")


def _problem_at(file: FileIO, position: StoredPosition) -> BodyProblem | None:
    """Read one record; return what is wrong with it."""
    try:
        check_record(file, position)
    except DamagedFile as damage:
        return damage.problem
    return None


def check_record(file: ReadableFile, position: StoredPosition) -> int:
    """Read one record and compare it with its row; return its length. Raise `DamagedFile` if it is not as it was."""
    file.seek(position.offset)
    stream = _Stream(file, min(position.length, CHUNK_BYTES) or NEXT_PIECE_BYTES)
    record = _read_member(stream, position.offset, position.length)
    if record is None:
        raise DamagedFile(f"The file ends before the record at offset {position.offset}.", BodyProblem.TRUNCATED)
    record.check()
    record.compare(position, stream.offset)
    return stream.offset


def _read_member(stream: _Stream, offset: int, length: int) -> _Record | None:
    """Decompress the next gzip member, of *length* bytes if that is known; return None at the end of the file."""
    record = _Record(offset)
    unpacker = isal_zlib.decompressobj(GZIP_WBITS)
    wanted, is_begun = length or FIRST_PIECE_BYTES, False
    try:
        while not unpacker.eof:
            piece: bytes | memoryview = unpacker.unconsumed_tail
            if not piece:
                piece = stream.take(wanted)
                wanted = wanted - len(piece) or NEXT_PIECE_BYTES
                if not piece and not is_begun:
                    return None
                if not piece:
                    raise DamagedFile(f"The file ends within the record at offset {offset}.", BodyProblem.TRUNCATED)
                is_begun = True
            record.feed(unpacker.decompress(piece, CHUNK_BYTES))
    except IsalError as error:
        raise DamagedFile(f"The record at offset {offset} cannot be decompressed.") from error
    stream.give_back(len(unpacker.unused_data))
    return record


class _Record:
    """A record while it is decompressed. A large one is hashed piece by piece, and not kept."""

    def __init__(self, offset: int) -> None:
        self._offset = offset
        self._pieces: list[bytes] = []
        self._size = 0
        self._head = b""
        """The WARC fields as written, each with the line break before and after it."""
        self._block = memoryview(b"")
        """With the end of the record; empty for a large one."""
        self._left = 0
        """Bytes of the block that are not hashed yet."""
        self._sha = sha1(usedforsecurity=False)
        self._end = b""

    def feed(self, data: bytes) -> None:
        """Add decompressed bytes."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MAX_JOINED_BYTES:
            self._hash()
            self._block = memoryview(b"")

    def check(self) -> None:
        """Check form, length and digest of the whole record."""
        self._hash()
        if self._left or self._end != END_OF_RECORD:
            raise self._damage("has another length than it says")
        stored = self._field(b"WARC-Block-Digest")
        if stored and not is_digest_of(stored, self._sha.digest()):
            raise self._damage("differs from its digest", BodyProblem.DIGEST)

    def compare(self, row: StoredPosition, length: int) -> None:
        """Compare the record, which has *length* bytes in the file, with a row."""
        if row.length and row.length != length:
            raise self._damage(f"has {length:,} bytes instead of {row.length:,}")
        if self._field(b"WARC-Type") not in ROW_RECORD_TYPES:
            raise self._damage("is not a response")
        if key_of(self._field(b"WARC-Target-URI").decode()) != row.key:
            raise self._damage("is of another URL")
        payload = self._field(b"WARC-Payload-Digest") or self._payload_digest()
        if row.digest and payload and payload != row.digest:
            raise self._damage("has another body than its row", BodyProblem.DIGEST)

    def _hash(self) -> None:
        data = b"".join(self._pieces)
        self._pieces.clear()
        content = memoryview(data)
        if not self._head:
            content = self._block = content[self._read_fields(data) :]
        self._sha.update(content[: self._left])
        self._end += content[self._left :][: len(END_OF_RECORD) + 1]
        self._left -= min(len(content), self._left)

    def _read_fields(self, content: bytes) -> int:
        """Read the WARC fields; return where the block begins."""
        begin = content.find(END_OF_RECORD) + len(END_OF_RECORD)
        self._head = content[:begin]
        try:
            self._left = int(self._field(b"Content-Length"))
        except ValueError as error:
            raise self._damage("is not a WARC record") from error
        if not self._head.startswith(b"WARC/"):
            raise self._damage("is not a WARC record")
        return begin

    def _field(self, name: bytes) -> bytes:
        """Return the value of a field; empty if there is none."""
        # Without a dictionary of all fields: most are never asked for.
        _, found, rest = self._head.partition(b"\r\n%b: " % name)
        return rest[: rest.index(b"\r\n")] if found else b""

    def _payload_digest(self) -> bytes:
        """Return the digest of a body whose record has none, because readers disagree about it; empty if unknown."""
        block = bytes(self._block)
        head = END_OF_HEAD.search(block)
        if self._field(b"WARC-Type") != b"response" or head is None:
            return b""
        raw_head, raw_body = block[: head.end()], block[head.end() : -len(END_OF_RECORD)]
        try:
            parsed = parse_head(raw_head)
        except DownloadError:
            return b""
        response = StoredResponse(raw_head, raw_body, b"", parsed.status, parsed.headers, ())
        return payload_digest(response).encode()

    def _damage(self, text: str, problem: BodyProblem = BodyProblem.UNREADABLE) -> DamagedFile:
        return DamagedFile(f"The record at offset {self._offset} {text}.", problem)
