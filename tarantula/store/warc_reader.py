"""WARC file reader: single records by offset, decoded responses, and repair of a truncated file."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import suppress
from os import pread
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from isal import isal_zlib

from tarantula.core.errors import TarantulaError
from tarantula.fetch.content_coding import decode_body
from tarantula.fetch.errors import DownloadError, InvalidResponse
from tarantula.fetch.exchange import RawHeaders
from tarantula.fetch.response import END_OF_HEAD, ChunkedBody, framing_fields, parse_head

GZIP_WBITS = 31
# Its types do not say that it is an exception.
IsalError: type[Exception] = isal_zlib.error  # type: ignore[assignment]
READ_CHUNK_BYTES = 1 << 16
FIRST_READ_BYTES = 1 << 13
HTTP_CONTENT_TYPE = b"\r\nContent-Type: application/http"
"""What the records of answers have among their fields."""
MAX_OPEN_FILES = 16
"""Files that `Records` has open at a time."""


class DamagedRecord(TarantulaError):
    """There is no whole record at a place; the sentence names the file and the place."""


class ByteSink(Protocol):
    """What bytes are copied to."""

    def write(self, data: bytes, /) -> object:
        """Take some bytes."""


class WarcRecord(NamedTuple):
    """One record: its WARC fields, an HTTP head if it has one, and what follows it."""

    named: bytes
    """The fields as they are written; few want to know what they say."""
    head: bytes
    """Status line and headers of an answer, up to and with the empty line; empty for a rendered page."""
    raw_body: bytes
    """As it was on the wire: chunked framing and compression are still there."""

    @property
    def fields(self) -> dict[str, str]:
        """What the fields say."""
        return dict([line.split(": ", 1) for line in self.named.decode().split("\r\n")[1:]])


def read_record(path: Path, offset: int) -> WarcRecord:
    """Read the record that begins at *offset* of a file; say which file and where, if there is none."""
    with open_record(path, offset) as file:
        return _record(file, offset)


class WarcRecordReader:
    """Reads records of a few files, which stay open: for whoever reads many, one after the other."""

    def __init__(self) -> None:
        self._open: dict[str, BinaryIO] = {}

    def read(self, path: str, offset: int, length: int | None = None) -> WarcRecord:
        """Do what `read_record` does, at once if the length of the record is known."""
        file = self._open.get(path)
        if file is None:
            if len(self._open) == MAX_OPEN_FILES:
                self.close()
            file = self._open[path] = open_record(Path(path), offset)
        if length:
            # Whatever is wrong with it is told by the longer way.
            with suppress(IsalError, DamagedRecord, OSError):
                return _taken_apart(
                    file, offset, isal_zlib.decompress(pread(file.fileno(), length, offset), GZIP_WBITS)
                )
        file.seek(offset)
        return _record(file, offset)

    def close(self) -> None:
        """Let go of the files."""
        for file in self._open.values():
            file.close()
        self._open.clear()


def _record(file: BinaryIO, offset: int) -> WarcRecord:
    try:
        content = b"".join(_member(file))
    except (EOFError, IsalError) as error:
        raise DamagedRecord(f"{file.name} has no whole record at {offset}: {error}.") from error
    return _taken_apart(file, offset, content)


def _taken_apart(file: BinaryIO, offset: int, content: bytes) -> WarcRecord:
    named, _, block = content.removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
    if HTTP_CONTENT_TYPE not in named:
        return _without_head(file, offset, WarcRecord(named, b"", block))
    head = END_OF_HEAD.search(block)
    end = head.end() if head else len(block)
    return WarcRecord(named, block[:end], block[end:])


def _without_head(file: BinaryIO, offset: int, record: WarcRecord) -> WarcRecord:
    try:
        record.fields["Content-Type"]
    except (ValueError, KeyError) as error:
        raise DamagedRecord(f"{file.name} has something else than a record at {offset}.") from error
    return record


def read_http_head(path: Path, offset: int) -> bytes:
    """Read only the HTTP head of the record that begins at *offset*; a record without one has none."""
    content = b""
    try:
        with open_record(path, offset) as file:
            for piece in _member(file):
                content += piece
                fields, blank, block = content.partition(b"\r\n\r\n")
                head = END_OF_HEAD.search(block)
                if blank and (head or HTTP_CONTENT_TYPE not in fields):
                    return block[: head.end()] if head else b""
    except (EOFError, IsalError) as error:
        raise DamagedRecord(f"{path} has no whole record at {offset}: {error}.") from error
    return b""


def open_record(path: Path, offset: int) -> BinaryIO:
    """Open a file at the beginning of a record."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DamagedRecord(f"{path} cannot be read at {offset}: {error.strerror}.") from error
    file.seek(offset)
    return file


def end_of_record(file: BinaryIO, offset: int) -> int:
    """Return where the record that begins at *offset* of an open file ends."""
    file.seek(offset)
    try:
        for _ in _member(file):
            pass
    except (EOFError, IsalError) as error:
        raise DamagedRecord(f"{file.name} has no whole record at {offset}: {error}.") from error
    return file.tell()


def copy_bytes(source: BinaryIO, start: int, end: int, target: ByteSink) -> None:
    """Append a stretch of one file to another."""
    source.seek(start)
    while start < end:
        piece = source.read(min(READ_CHUNK_BYTES, end - start))
        if not piece:
            raise DamagedRecord(f"{source.name} has no whole record at {start}: the file ends there.")
        target.write(piece)
        start += len(piece)


def unchunk(framed: bytes) -> bytes:
    """Return a chunked body without its framing; one that is not in chunks, as it is."""
    body = ChunkedBody()
    try:
        body.feed(framed)
        body.finish()
    except InvalidResponse:
        return framed
    return body.payload()


def truncate_damaged_end(path: Path, good: int = 0) -> int:
    """Cut a file after its last whole record, looking from *good* on, and return how many bytes went.

    A file that a collector is still writing is left alone.
    """
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        size = file.seek(0, 2)
        end = _end_of_whole_records(file, good if good <= size else 0)
        file.truncate(end)
    return size - end


def _end_of_whole_records(file: BinaryIO, start: int) -> int:
    end = start
    while True:
        file.seek(end)
        try:
            for _ in _member(file):
                pass
        except (EOFError, IsalError):
            return end
        end = file.tell()


def _member(file: BinaryIO) -> Iterator[bytes]:
    """Yield what the gzip member at the file's position holds, and leave the file at the member's end."""
    unpacker = isal_zlib.decompressobj(GZIP_WBITS)
    # Most records are small, and what is read beyond the end of one is read again.
    size = FIRST_READ_BYTES
    while not unpacker.eof:
        piece, size = file.read(size), READ_CHUNK_BYTES
        if not piece:
            raise EOFError("the file ends there")
        yield unpacker.decompress(piece)
    file.seek(-len(unpacker.unused_data), 1)


class Payload(NamedTuple):
    """What a server gave, or what a browser made of it."""

    headers: RawHeaders
    body: bytes
    note: str = ""
    """What was odd about unpacking it."""

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        for key, value in self.headers:
            if key.lower() == name:
                return value.decode("latin-1")
        return None


def decode_payload(record: WarcRecord) -> Payload:
    """Return what a record holds; what cannot be unpacked is as it was sent."""
    if not record.head:
        return Payload([(b"Content-Type", record.fields["Content-Type"].encode("latin-1"))], record.raw_body)
    try:
        headers = parse_head(record.head).headers
    except DownloadError:
        return Payload([], record.raw_body)
    fields = framing_fields(headers)
    transfer = [coding for coding in fields.get(b"transfer-encoding", ()) if coding != b"identity"]
    body = unchunk(record.raw_body) if transfer[-1:] == [b"chunked"] else record.raw_body
    codings = [*fields.get(b"content-encoding", ()), *(coding for coding in transfer if coding != b"chunked")]
    return Payload(headers, *decode_body(body, codings)) if codings else Payload(headers, body)


class StoredResponse(NamedTuple):
    """What a server sent, named as in `tarantula.fetch.exchange.Exchange`."""

    head: bytes
    raw_body: bytes
    body: bytes
    status: int
    headers: RawHeaders
    note: str


def read_response(path: Path, offset: int) -> StoredResponse:
    """Read the answer whose record begins at *offset* of a file; say which file and where, if there is none."""
    record = read_record(path, offset)
    try:
        status = parse_head(record.head).status
        payload = decode_payload(record)
    except DownloadError as error:
        raise DamagedRecord(f"{path} has no answer at {offset}: {error.reason}") from error
    return StoredResponse(record.head, record.raw_body, payload.body, status, payload.headers, payload.note)
