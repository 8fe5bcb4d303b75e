"""WARC file reader: single records by offset, decoded responses, and repair of a truncated file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from os import pread
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from isal import isal_zlib

from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import Reason
from tarantula.fetch.content_coding import decode_body
from tarantula.fetch.exchange import DownloadError, InvalidResponse, RawHeaders, TruncatedBody
from tarantula.fetch.response import END_OF_HEAD, ChunkedBody, framing_fields, parse_head

GZIP_WBITS = 31
# The type stubs do not declare it as an exception.
IsalError: type[Exception] = isal_zlib.error  # type: ignore[assignment]
READ_CHUNK_BYTES = 1 << 16
FIRST_READ_BYTES = 1 << 13
HTTP_CONTENT_TYPE = b"\r\nContent-Type: application/http"
"""Field of the records that contain an HTTP head."""
END_OF_FIELDS = b"\r\n\r\n"
_TARGET_URI = re.compile(rb"\r\nWARC-Target-URI:[ \t]*(\S+)[ \t]*\r\n", re.IGNORECASE)
MAX_OPEN_FILES = 16
"""Files that `WarcRecordReader` keeps open."""


class DamagedRecord(TarantulaError):
    """There is no complete record at a position; the message has the file and the offset."""


class UnreadableRecord(DamagedRecord):
    """The system cannot read a record: the disk reports an error, or refuses access. It may be whole all the same."""


class ByteSink(Protocol):
    """Target of copied bytes."""

    def write(self, data: bytes, /) -> object:
        """Append bytes."""


class WarcRecord(NamedTuple):
    """One WARC record: its WARC fields, an HTTP head if it has one, and the rest of the block."""

    raw_fields: bytes
    """The WARC fields as written, unparsed: most callers do not need them."""
    head: bytes
    """Status line and headers of a response, including the empty line; empty for a rendered page."""
    raw_body: bytes
    """The body as sent, with chunked framing and compression."""

    @property
    def fields(self) -> dict[str, str]:
        """The WARC fields by name."""
        return dict([line.split(": ", 1) for line in self.raw_fields.decode().split("\r\n")[1:]])


def read_record(path: Path, offset: int) -> WarcRecord:
    """Return the record that begins at *offset*; raise DamagedRecord if there is none."""
    with open_record(path, offset) as file:
        return _read_record(file, offset)


class WarcRecordReader:
    """Reads many records and keeps a few files open."""

    def __init__(self) -> None:
        self._open: dict[str, BinaryIO] = {}

    def read(self, path: str, offset: int, length: int | None = None) -> WarcRecord:
        """Read a record as `read_record` does, with a single read if its length is known."""
        file = self._open.get(path)
        if file is None:
            if len(self._open) == MAX_OPEN_FILES:
                self.close()
            file = self._open[path] = open_record(Path(path), offset)
        if length:
            # On any error, the slower path below raises it with details.
            with suppress(IsalError, DamagedRecord, OSError):
                return _parse_record(
                    file, offset, isal_zlib.decompress(pread(file.fileno(), length, offset), GZIP_WBITS)
                )
        file.seek(offset)
        return _read_record(file, offset)

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()
        self._open.clear()


def _read_record(file: BinaryIO, offset: int) -> WarcRecord:
    with _damage_at(file, offset):
        content = b"".join(_read_member(file))
    return _parse_record(file, offset, content)


@contextmanager
def _damage_at(file: BinaryIO, offset: int) -> Iterator[None]:
    """Raise DamagedRecord with the position if a record is not complete, or cannot be read."""
    try:
        yield
    except (EOFError, IsalError) as error:
        raise DamagedRecord(
            "{file} has no complete record at offset {offset}: {error}.", file=file.name, offset=offset, error=error
        ) from error
    except OSError as error:
        raise unreadable_record(file.name, offset, error) from error


def unreadable_record(path: object, offset: int, error: OSError) -> UnreadableRecord:
    """Return the error for a record that the system cannot read."""
    return UnreadableRecord(
        "{path} cannot be read at offset {offset}: {error}.", path=path, offset=offset, error=error.strerror
    )


def _parse_record(file: BinaryIO, offset: int, content: bytes) -> WarcRecord:
    raw_fields, _, block = content.removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
    if HTTP_CONTENT_TYPE not in raw_fields:
        return _checked_headless(file, offset, WarcRecord(raw_fields, b"", block))
    head = END_OF_HEAD.search(block)
    end = head.end() if head else len(block)
    return WarcRecord(raw_fields, block[:end], block[end:])


def _checked_headless(file: BinaryIO, offset: int, record: WarcRecord) -> WarcRecord:
    try:
        record.fields["Content-Type"]
    except (ValueError, KeyError) as error:
        raise DamagedRecord("{file} has no WARC record at offset {offset}.", file=file.name, offset=offset) from error
    return record


def read_http_head(path: Path, offset: int) -> bytes:
    """Return only the HTTP head of the record that begins at *offset*; empty if it has none."""
    content = b""
    with open_record(path, offset) as file, _damage_at(file, offset):
        for piece in _read_member(file):
            content += piece
            fields, blank, block = content.partition(b"\r\n\r\n")
            head = END_OF_HEAD.search(block)
            if blank and (head or HTTP_CONTENT_TYPE not in fields):
                return block[: head.end()] if head else b""
    return b""


def open_record(path: Path, offset: int) -> BufferedReader:
    """Open a file at the beginning of a record."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable_record(path, offset, error) from error
    file.seek(offset)
    return file


def end_of_record(file: BinaryIO, offset: int) -> int:
    """Return the end offset of the record that begins at *offset*."""
    file.seek(offset)
    with _damage_at(file, offset):
        for _ in _read_member(file):
            pass
    return file.tell()


def target_url(file: BinaryIO, offset: int) -> str | None:
    """Return the URL that the record at *offset* is about; None if it has none, as a warcinfo record."""
    file.seek(offset)
    content = b""
    with _damage_at(file, offset):
        for piece in _read_member(file):
            content += piece
            if END_OF_FIELDS in content:
                break
    found = _TARGET_URI.search(content.partition(END_OF_FIELDS)[0] + b"\r\n")
    return found[1].decode("utf-8", "replace").strip("<>") if found else None


def copy_bytes(source: BinaryIO, start: int, end: int, target: ByteSink) -> None:
    """Append a byte range of one file to another."""
    source.seek(start)
    while start < end:
        with _damage_at(source, start):
            piece = source.read(min(READ_CHUNK_BYTES, end - start))
        if not piece:
            raise DamagedRecord(
                "{source} has no complete record at offset {start}: the file ends there.",
                source=source.name,
                start=start,
            )
        target.write(piece)
        start += len(piece)


def unchunk(framed: bytes) -> bytes:
    """Return a chunked body without its framing, also if it is incomplete; a body that is not chunked unchanged."""
    body = ChunkedBody()
    try:
        body.feed(framed)
        body.finish()
    except TruncatedBody:
        return body.payload() or framed
    except InvalidResponse:
        return framed
    return body.payload()


def end_of_complete_records(file: BinaryIO, start: int) -> int:
    """Return the end offset of the last complete record, of those that follow each other from *start* on.

    Raise UnreadableRecord if the system cannot read one: what follows may be whole.
    """
    end = start
    try:
        while True:
            end = end_of_record(file, end)
    except UnreadableRecord:
        raise
    except DamagedRecord:
        return end


def _read_member(file: BinaryIO) -> Iterator[bytes]:
    """Yield the decompressed gzip member at the file's position, and leave the file at the member's end."""
    unpacker = isal_zlib.decompressobj(GZIP_WBITS)
    # Most records are small, and bytes read past the end of one are read again.
    size = FIRST_READ_BYTES
    while not unpacker.eof:
        piece, size = file.read(size), READ_CHUNK_BYTES
        if not piece:
            raise EOFError("the file ends there")
        yield unpacker.decompress(piece)
    file.seek(-len(unpacker.unused_data), 1)


class Payload(NamedTuple):
    """Headers and decoded body of a response or of a rendered page."""

    headers: RawHeaders
    body: bytes
    notes: tuple[Reason, ...] = ()
    """Problems found while decoding."""

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        for key, value in self.headers:
            if key.lower() == name:
                return value.decode("latin-1")
        return None


def decode_payload(record: WarcRecord) -> Payload:
    """Return the payload of a record, without chunked framing and compression; undecodable bytes stay as sent."""
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


def framed_payload(record: WarcRecord) -> bytes:
    """Return the body of a response without its chunked framing, and with the compression as sent."""
    fields = framing_fields(parse_head(record.head).headers)
    is_chunked = fields.get(b"transfer-encoding", ())[-1:] == [b"chunked"]
    return unchunk(record.raw_body) if is_chunked else record.raw_body


class StoredResponse(NamedTuple):
    """A stored response, with the field names of `tarantula.fetch.exchange.Exchange`."""

    head: bytes
    raw_body: bytes
    body: bytes
    status: int
    headers: RawHeaders
    notes: tuple[Reason, ...]


def read_response(path: Path, offset: int) -> StoredResponse:
    """Return the response whose record begins at *offset*; raise DamagedRecord if there is none."""
    record = read_record(path, offset)
    try:
        status = parse_head(record.head).status
        payload = decode_payload(record)
    except DownloadError as error:
        raise DamagedRecord(
            "{path} has no response at offset {offset}: {reason}", path=path, offset=offset, reason=error.reason
        ) from error
    return StoredResponse(record.head, record.raw_body, payload.body, status, payload.headers, payload.notes)
