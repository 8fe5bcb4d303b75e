"""An answer read back from its record, with its body as a browser would have it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tarantula.fetch.errors import DownloadError
from tarantula.fetch.exchange import RawHeaders
from tarantula.fetch.response_part_head import parse_head
from tarantula.store.warc_reader import DamagedRecord, read_record
from tarantula.store.warc_reader_part_payload import decode_payload


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
