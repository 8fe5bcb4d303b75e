"""The body of a record, without what was done to it on the wire."""

from __future__ import annotations

from tarantula.download.decode import decode
from tarantula.download.exchange import Head, Headers
from tarantula.download.head import parse_head
from tarantula.store.read import Record, unchunk


def body_of(record: Record, max_size: int = 0) -> bytes:
    """Return a record's body without transfer and content coding; over *max_size* it raises `TooLarge`."""
    if not record.head:
        return record.raw_body
    headers = parse_head(record.head).headers
    transfer = [coding for coding in _members(headers, b"transfer-encoding") if coding != b"identity"]
    payload = unchunk(record.raw_body) if transfer[-1:] == [b"chunked"] else record.raw_body
    codings = [*_members(headers, b"content-encoding"), *(coding for coding in transfer if coding != b"chunked")]
    return decode(payload, codings, max_size).body


def content_type_of(record: Record) -> str | None:
    """Return what a record's Content-Type header says: the answer's, or a rendered page's own."""
    if not record.head:
        return record.fields["Content-Type"]
    return Head("", 0, parse_head(record.head).headers).get(b"content-type")


def _members(headers: Headers, name: bytes) -> list[bytes]:
    values = b",".join(value for key, value in headers if key.lower() == name)
    return [member for part in values.lower().split(b",") if (member := part.strip())]
