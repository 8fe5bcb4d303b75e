"""The body of a stored answer, without chunks and compression."""

from __future__ import annotations

from typing import NamedTuple

from tarantula.fetch.content_coding_part_decode import decode_body
from tarantula.fetch.errors import DownloadError
from tarantula.fetch.exchange import RawHeaders
from tarantula.fetch.response import framing_fields
from tarantula.fetch.response_part_head import parse_head
from tarantula.store.warc_reader import WarcRecord, unchunk


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
