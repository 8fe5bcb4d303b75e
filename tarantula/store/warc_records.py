"""Serialization of single WARC records (ISO 28500:2017, WARC 1.1), each a gzip member."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha1

from isal import isal_zlib

from tarantula.fetch.exchange import Exchange
from tarantula.fetch.response import framing_fields, parse_head
from tarantula.frontier.queues import PreviousCapture
from tarantula.store.warc_reader import GZIP_WBITS, StoredResponse, unchunk

WarcFields = Iterable[tuple[str, str]]

BLANK_LINE_WITHIN = re.compile(rb"\n\s*\n(?!\Z)")
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
DIGITS = bytes.maketrans(BASE32.encode(), b"0123456789abcdefghijklmnopqrstuv")
"""From the digits of base 32 to those that `int` reads."""
PAIRS = [first + second for first in BASE32 for second in BASE32]
COMPRESSION_LEVEL = 2
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
IDENTICAL_PROFILE = f"{REVISIT_PROFILE}identical-payload-digest"
NOT_MODIFIED_PROFILE = f"{REVISIT_PROFILE}server-not-modified"
WARC_FIELDS_TYPE = "application/warc-fields"
WARC_FORMAT = {
    "format": "WARC File Format 1.1",
    "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
}


def warc_digest(*pieces: bytes) -> str:
    """Return the SHA-1 digest of the concatenated *pieces*, in the notation of WARC."""
    sha = sha1(usedforsecurity=False)
    for piece in pieces:
        sha.update(piece)
    return f"sha1:{_base32(sha.digest())}"


def payload_digest(exchange: Exchange | StoredResponse) -> str:
    """Return the digest of a response body without its chunked framing (6.3.2: the payload has no transfer coding)."""
    chunked = _transfer_coding(exchange).endswith(b"chunked")
    return warc_digest(unchunk(exchange.raw_body) if chunked else exchange.raw_body)


def warc_date(moment: datetime) -> str:
    """Return a WARC-Date: UTC, to the microsecond."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def warcinfo_record(record_id: str, date: str, filename: str, info: Mapping[str, str]) -> bytes:
    """Return the first record of a file."""
    lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in {**WARC_FORMAT, **info}.items())
    fields = (("WARC-Filename", filename), ("Content-Type", WARC_FIELDS_TYPE))
    return _serialize("warcinfo", record_id, date, fields, "".join(lines).encode())


def response_record(record_id: str, exchange: Exchange, warcinfo_id: str, payload: str) -> bytes:
    """Return the record of a response, with the bytes as sent."""
    fields = (
        *_common_fields(exchange, warcinfo_id),
        *_tls_fields(exchange.tls),
        ("WARC-Truncated", exchange.truncated),
        ("WARC-Payload-Digest", payload if _has_clear_head(exchange) else ""),
        ("Content-Type", "application/http; msgtype=response"),
    )
    return _serialize("response", record_id, warc_date(exchange.started_at), fields, exchange.head, exchange.raw_body)


def revisit_record(record_id: str, exchange: Exchange, payload: str, earlier: PreviousCapture) -> bytes:
    """Return the record of a response whose body is in an earlier record."""
    unmodified = exchange.not_modified is not None
    fields = (
        ("WARC-Target-URI", exchange.url),
        ("WARC-IP-Address", exchange.address),
        *_tls_fields(exchange.tls),
        ("WARC-Profile", NOT_MODIFIED_PROFILE if unmodified else IDENTICAL_PROFILE),
        ("WARC-Refers-To-Target-URI", earlier.url),
        ("WARC-Refers-To-Date", warc_date(earlier.collected_at)),
        ("WARC-Payload-Digest", payload),
        ("Content-Type", "application/http; msgtype=response"),
    )
    # pywb would replay the head of a 304 response, without a body; without a head it replays the earlier one. The head
    # of the 304 response is in a record of its own.
    block = b"" if unmodified else exchange.head
    return _serialize("revisit", record_id, warc_date(exchange.started_at), fields, block)


def borrowed_record(record_id: str, url: str, date: str, head: bytes, body: bytes, payload: str) -> bytes:
    """Return the record of a response whose body was stored with another URL: its own *head*, and the *body* unchunked.

    It stands for a revisit record in a file that does not have the other record.
    """
    framing = framing_fields(parse_head(head).headers).get(b"transfer-encoding", ())
    framed = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if framing[-1:] == [b"chunked"] else body
    fields = (
        ("WARC-Target-URI", url),
        ("WARC-Payload-Digest", payload),
        ("Content-Type", "application/http; msgtype=response"),
    )
    return _serialize("response", record_id, date, fields, head, framed)


def request_record(record_id: str, exchange: Exchange, warcinfo_id: str, response_id: str) -> bytes:
    """Return the record of a request."""
    fields = (
        *_common_fields(exchange, warcinfo_id),
        ("WARC-Concurrent-To", response_id),
        ("Content-Type", "application/http; msgtype=request"),
    )
    return _serialize("request", record_id, warc_date(exchange.started_at), fields, exchange.request)


def not_modified_record(record_id: str, exchange: Exchange, warcinfo_id: str, revisit_id: str) -> bytes:
    """Return the record with status line and headers of a 304 response, which describes its revisit record."""
    fields = (
        *_common_fields(exchange, warcinfo_id),
        ("WARC-Refers-To", revisit_id),
        # With another type, cdxj-indexer would list it as a capture of the URL.
        ("Content-Type", WARC_FIELDS_TYPE),
    )
    status_line = exchange.head.partition(b"\n")[0].rstrip(b"\r")
    lines = [b"http-status-line: " + status_line, *(b"http-header-%s: %s" % header for header in exchange.headers), b""]
    return _serialize("metadata", record_id, warc_date(exchange.started_at), fields, b"\r\n".join(lines))


def conversion_record(record_id: str, exchange: Exchange, warcinfo_id: str, response_id: str, rendered: bytes) -> bytes:
    """Return the record of a rendered page."""
    fields = (
        ("WARC-Target-URI", exchange.url),
        ("WARC-Warcinfo-ID", warcinfo_id),
        ("WARC-Refers-To", response_id),
        ("Content-Type", "text/html; charset=utf-8"),
    )
    return _serialize("conversion", record_id, warc_date(exchange.started_at), fields, rendered)


def is_digest_of(text: bytes, sha: bytes) -> bool:
    """Whether *sha* is the SHA-1 digest in a WARC field. To read a number is faster than to write one in base 32."""
    scheme, _, number = text.partition(b":")
    if scheme != b"sha1" or len(number) != 32:
        return False
    try:
        return int(number.translate(DIGITS), 32) == int.from_bytes(sha, "big")
    except ValueError:
        return False


def _base32(sha: bytes) -> str:
    # base64.b32encode takes longer than the hash itself.
    number = int.from_bytes(sha, "big")
    return "".join([PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)])


def _transfer_coding(exchange: Exchange | StoredResponse) -> bytes:
    return b",".join(value.lower() for name, value in exchange.headers if name.lower() == b"transfer-encoding")


def _has_clear_head(exchange: Exchange) -> bool:
    # Some readers take a line of spaces for the end of the head. Where they disagree about what the payload is, no
    # digest is better than one that some consider wrong.
    return not BLANK_LINE_WITHIN.search(exchange.head)


def _common_fields(exchange: Exchange, warcinfo_id: str) -> WarcFields:
    return (
        ("WARC-Target-URI", exchange.url),
        ("WARC-IP-Address", exchange.address),
        ("WARC-Warcinfo-ID", warcinfo_id),
    )


def _tls_fields(tls: str) -> WarcFields:
    version, _, cipher = tls.partition(" ")
    return (("WARC-Protocol", version.lower().replace("v", "/")), ("WARC-Cipher-Suite", cipher))


def _serialize(kind: str, record_id: str, date: str, fields: WarcFields, *block: bytes) -> bytes:
    named = (
        ("WARC-Type", kind),
        ("WARC-Record-ID", record_id),
        ("WARC-Date", date),
        *fields,
        ("WARC-Block-Digest", warc_digest(*block) if any(block) else ""),
        ("Content-Length", str(sum(map(len, block)))),
    )
    header = "WARC/1.1\r\n" + "".join([f"{name}: {value}\r\n" for name, value in named if value]) + "\r\n"
    return isal_zlib.compress(b"".join((header.encode(), *block, b"\r\n\r\n")), COMPRESSION_LEVEL, GZIP_WBITS)
