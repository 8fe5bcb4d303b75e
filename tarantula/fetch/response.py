"""Incremental parser of HTTP responses: status line, headers, body framing (RFC 9112). It does no I/O."""

from __future__ import annotations

import re
from contextlib import suppress
from time import monotonic
from typing import NamedTuple, Protocol

from tarantula.core.reasons import Reason
from tarantula.fetch.exchange import (
    BodyTooLarge,
    DownloadError,
    FetchRequest,
    InvalidResponse,
    NoStatusCode,
    RawHeaders,
    ResponseHead,
    TruncatedBody,
)

END_OF_HEAD = re.compile(rb"\n\r?\n")
HTTP_MAGIC = b"HTTP/"
MAX_STATUS_LINE_BYTES = 200
QUOTED_BYTES = 60
MAX_CHUNK_LINE_BYTES = 16 * 1024
MAX_FRAMING_BYTES = 64 * 1024
"""Bytes of chunked framing, in addition to the maximum size of the body."""
MAX_INTERIM_RESPONSES = 20

_STATUS_LINE = re.compile(rb"HTTP/(\d)(?:\.(\d)\d*)?[ \t]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_FOLD = re.compile(rb"\r?\n[ \t]+")


class ParsedResponseHead(NamedTuple):
    """Version, status and headers of a response."""

    version: tuple[int, int]
    status: int
    headers: RawHeaders


def parse_head(raw: bytes) -> ParsedResponseHead:
    """Parse a complete head; like browsers, skip lines that are not headers."""
    status_line = check_status_line(raw)
    if b"\n " in raw or b"\n\t" in raw:
        raw = _FOLD.sub(b" ", raw)
    headers = []
    for line in raw.split(b"\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon and name:
            headers.append((name.rstrip(), value.strip()))
    return ParsedResponseHead((int(status_line[1]), int(status_line[2] or 0)), int(status_line[3]), headers)


def check_status_line(raw: bytes | bytearray) -> re.Match[bytes]:
    """Match the status line; raise `InvalidResponse` or `NoStatusCode` if it is invalid."""
    matched = _STATUS_LINE.match(bytes(raw[:MAX_STATUS_LINE_BYTES]))
    if matched is None:
        check_magic(raw)
        raise NoStatusCode(Reason.of("no_status_code", start=quoted(raw)))
    return matched


def check_magic(raw: bytes | bytearray) -> None:
    """Raise `InvalidResponse` if the bytes cannot be the start of an HTTP response."""
    if raw[: len(HTTP_MAGIC)].upper() != HTTP_MAGIC[: len(raw)]:
        raise InvalidResponse(Reason.of("not_http", start=quoted(raw)))


def quoted(raw: bytes | bytearray) -> str:
    """Return the first line of some bytes, shortened and printable, in quotation marks."""
    line = bytes(raw[: QUOTED_BYTES + 1]).partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    text = "".join(character if character.isprintable() else "\N{MIDDLE DOT}" for character in line)
    return f"“{text[:QUOTED_BYTES]}…”" if len(text) > QUOTED_BYTES else f"“{text}”"


_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?", re.DOTALL)


class ResponseBody(Protocol):
    """A body while it arrives: its bytes as received, and its payload without framing."""

    size: int
    """Bytes of payload so far."""
    overhead: int
    """Bytes of framing so far."""
    complete: bool
    excess: bool
    """Whether the server sent more bytes than belong to this response."""

    def feed(self, data: bytes) -> None:
        """Add received bytes."""

    def finish(self) -> None:
        """Handle the end of the connection; raise `TruncatedBody` if the body is incomplete."""

    def raw(self) -> bytes:
        """Return the bytes as received."""

    def payload(self) -> bytes:
        """Return the bytes without framing."""


class PlainBody:
    """A body with a Content-Length, or one that ends with the connection."""

    __slots__ = ("_joined", "_length", "_pieces", "complete", "excess", "overhead", "size")

    def __init__(self, length: int | None) -> None:
        self._length = length
        self._pieces: list[bytes] = []
        self._joined: bytes | None = None
        self.size = 0
        self.overhead = 0
        self.complete = length == 0
        self.excess = False

    def feed(self, data: bytes) -> None:
        if self._length is not None and len(data) >= self._length - self.size:
            self.complete = True
            self.excess = len(data) > self._length - self.size
            if self.excess:
                data = data[: self._length - self.size]
        self._pieces.append(data)
        self.size += len(data)

    def finish(self) -> None:
        if self._length is not None and not self.complete:
            raise TruncatedBody(Reason.of("body_incomplete", size=self.size, length=self._length))
        self.complete = True

    def raw(self) -> bytes:
        # Nothing is copied if the body came in one piece.
        if self._joined is None:
            self._joined = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        return self._joined

    payload = raw


class ChunkedBody:
    """A chunked body; the framing is kept too."""

    __slots__ = (
        "_after_data", "_in_trailer", "_left", "_line", "_payload", "_raw", "complete", "excess", "overhead", "size",
    )  # fmt: skip

    def __init__(self) -> None:
        self._raw: list[bytes] = []
        self._payload: list[bytes] = []
        self._line = bytearray()
        self._left = 0
        self._after_data = False
        self._in_trailer = False
        self.size = 0
        self.overhead = 0
        self.complete = False
        self.excess = False

    def feed(self, data: bytes) -> None:
        position, end = 0, len(data)
        while position < end and not self.complete:
            position = self._take_data(data, position) if self._left else self._take_line(data, position)
        self.excess = position < end
        self._raw.append(data[:position] if self.excess else data)

    def finish(self) -> None:
        # The empty line after the last chunk may be missing.
        if not self._in_trailer:
            raise TruncatedBody(Reason.of("chunks_incomplete", size=self.size))
        self.complete = True

    def raw(self) -> bytes:
        return b"".join(self._raw)

    def payload(self) -> bytes:
        return b"".join(self._payload)

    def _take_data(self, data: bytes, position: int) -> int:
        piece = data[position : position + self._left]
        self._payload.append(piece)
        self.size += len(piece)
        self._left -= len(piece)
        self._after_data = True
        return position + len(piece)

    def _take_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position) + 1
        self._line += data[position : end or None]
        self.overhead += (end or len(data)) - position
        if len(self._line) > MAX_CHUNK_LINE_BYTES:
            raise InvalidResponse(Reason.of("chunk_line_too_long", limit=MAX_CHUNK_LINE_BYTES))
        if not end:
            return len(data)
        self._read_line(bytes(self._line[:-1]))
        self._line.clear()
        return end

    def _read_line(self, line: bytes) -> None:
        empty = line in (b"", b"\r")
        if self._in_trailer:
            self.complete = empty
        elif empty and self._after_data:
            self._after_data = False
        else:
            self._left = self._chunk_size(line)
            self._in_trailer = self._left == 0
            self._after_data = False

    @staticmethod
    def _chunk_size(line: bytes) -> int:
        matched = _CHUNK_SIZE.fullmatch(line)
        if matched is None:
            raise InvalidResponse(Reason.of("not_chunked", line=quoted(line)))
        return int(matched[1], 16)


_LENGTH = re.compile(rb"\d{1,18}")
_FRAMING_HEADERS = frozenset({b"connection", b"content-encoding", b"content-length", b"transfer-encoding"})


class ResponseReader:
    """Parses one response; raises a `DownloadError` as soon as it is known to be invalid."""

    def __init__(self, request: FetchRequest, max_head: int) -> None:
        self._request = request
        self._max_head = max_head
        self._buffer = bytearray()
        self._interim = 0
        self._keep_alive = False
        self.untouched = True
        self.head = b""
        self.head_at = 0.0
        self.status = 0
        self.headers: RawHeaders = []
        self.codings: list[bytes] = []
        """Codings of the body in the order of their application: content, then transfer codings except chunked."""
        self.body: ResponseBody | None = None

    @property
    def complete(self) -> bool:
        """Whether the whole response has arrived."""
        return self.body is not None and self.body.complete

    @property
    def reusable(self) -> bool:
        """Whether the connection can be used for another request."""
        return self._keep_alive and self.body is not None and self.body.complete and not self.body.excess

    @property
    def stage(self) -> Reason:
        """Current stage, as part of the reason of a timeout."""
        if self.untouched:
            return Reason.of("stage_waiting")
        if self.body is None:
            return Reason.of("stage_headers")
        return Reason.of("stage_body", size=self.body.size)

    def feed(self, data: bytes) -> None:
        """Parse received bytes."""
        self.untouched = False
        if self.body is None:
            self._feed_head(data)
        else:
            self._feed_body(self.body, data)

    def finish(self) -> None:
        """Handle the end of the connection; raise `InvalidResponse` if the response is incomplete."""
        self._keep_alive = False
        if self.untouched:
            raise InvalidResponse(Reason.of("no_response"))
        if self.body is not None:
            self.body.finish()
            return
        if self._buffer:
            check_status_line(self._buffer)
        raise InvalidResponse(Reason.of("headers_incomplete"))

    def _feed_head(self, data: bytes) -> None:
        rest: bytes | None = data
        while rest and self.body is None:
            rest = self._take_head(rest)
        if rest and self.body is not None:
            self._feed_body(self.body, rest)

    def _take_head(self, data: bytes) -> bytes | None:
        """Return the bytes after a complete head; keep an incomplete one in the buffer and return ``None``."""
        seen = len(self._buffer)
        if seen:
            self._buffer += data
        else:
            # RFC 9112, 2.2: ignore empty lines before the status line.
            data = data.lstrip(b"\r\n")
        buffer = self._buffer if seen else data
        end = END_OF_HEAD.search(buffer, max(0, seen - 2))
        if (end.end() if end else len(buffer)) > self._max_head:
            raise InvalidResponse(Reason.of("headers_too_large", limit=self._max_head))
        if end is None:
            self._wait_for_more(data, seen)
            return None
        raw, rest = bytes(buffer[: end.end()]), bytes(buffer[end.end() :])
        self._buffer.clear()
        self._handle_head(raw, rest)
        return rest

    def _wait_for_more(self, data: bytes, seen: int) -> None:
        if not seen:
            self._buffer += data
        check_magic(self._buffer)
        if b"\n" in data:
            check_status_line(self._buffer)

    def _handle_head(self, raw: bytes, rest: bytes) -> None:
        parsed = parse_head(raw)
        if parsed.status < 200 and parsed.status != 101:
            self._interim += 1
            if self._interim > MAX_INTERIM_RESPONSES:
                raise InvalidResponse(Reason.of("too_many_interim", limit=MAX_INTERIM_RESPONSES))
            return
        self.head, self.head_at = raw, monotonic()
        self.status, self.headers = parsed.status, parsed.headers
        self.body = self._open_body(parsed)
        self._call_on_head(self.body, rest)

    def _call_on_head(self, body: ResponseBody, rest: bytes) -> None:
        if self._request.on_head is None:
            return
        try:
            self._request.on_head(ResponseHead(self._request.url, self.status, self.headers))
        except Exception:
            # A refused body that has arrived already costs nothing, and keeps the connection usable.
            with suppress(DownloadError):
                body.feed(rest)
            raise

    def _feed_body(self, body: ResponseBody, data: bytes) -> None:
        body.feed(data)
        limit = self._request.max_size
        if limit and (body.size > limit or body.overhead > limit + MAX_FRAMING_BYTES):
            raise BodyTooLarge(Reason.of("body_too_large", limit=limit))

    def _open_body(self, parsed: ParsedResponseHead) -> ResponseBody:
        fields = framing_fields(parsed.headers)
        connection = fields.get(b"connection", ())
        self._keep_alive = b"keep-alive" in connection if parsed.version < (1, 1) else b"close" not in connection
        self.codings = [*fields.get(b"content-encoding", ())]
        transfer = [coding for coding in fields.get(b"transfer-encoding", ()) if coding != b"identity"]
        if self._opens_tunnel(parsed.status):
            self._keep_alive = True
            return PlainBody(0)
        if parsed.status == 101:
            # No other protocol was requested; the bytes that follow are not HTTP.
            self._keep_alive = False
        if parsed.status in (101, 204, 304) or self._request.method == "HEAD":
            return PlainBody(0)
        if transfer:
            # RFC 9112, 6.3: a transfer coding overrides a length, and the connection must not be reused.
            self._keep_alive = self._keep_alive and b"content-length" not in fields
            self.codings += [coding for coding in transfer if coding != b"chunked"]
            return ChunkedBody() if transfer[-1] == b"chunked" else self._until_close()
        length = _content_length(fields.get(b"content-length", []))
        return PlainBody(length) if length is not None else self._until_close()

    def _opens_tunnel(self, status: int) -> bool:
        return self._request.method == "CONNECT" and status < 300

    def _until_close(self) -> ResponseBody:
        self._keep_alive = False
        return PlainBody(None)


def framing_fields(headers: RawHeaders) -> dict[bytes, list[bytes]]:
    """Return the values of the headers that describe framing and codings of the body, in lower case."""
    fields: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in _FRAMING_HEADERS:
            members = [member.strip() for member in value.lower().split(b",")]
            fields.setdefault(lower, []).extend(member for member in members if member)
    return fields


def _content_length(values: list[bytes]) -> int | None:
    lengths = {int(value) for value in values if _LENGTH.fullmatch(value)}
    if len(lengths) > 1:
        raise InvalidResponse(Reason.of("lengths_differ"))
    return lengths.pop() if lengths else None
