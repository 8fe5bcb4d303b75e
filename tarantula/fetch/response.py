"""Incremental parser of HTTP responses: status line, headers, body framing (RFC 9112). It does no I/O."""

from __future__ import annotations

import re
from contextlib import suppress
from time import monotonic
from typing import NamedTuple, Protocol

from tarantula.fetch.errors import BodyTooLarge, DownloadError, InvalidResponse, NoStatusCode
from tarantula.fetch.exchange import FetchRequest, RawHeaders, ResponseHead

END_OF_HEAD = re.compile(rb"\n\r?\n")
HTTP_MAGIC = b"HTTP/"
MAX_STATUS_LINE_BYTES = 200
QUOTED_BYTES = 60

_STATUS_LINE = re.compile(rb"HTTP/(\d)(?:\.(\d)\d*)?[ \t]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_FOLD = re.compile(rb"\r?\n[ \t]+")


class ParsedResponseHead(NamedTuple):
    """What a head says."""

    version: tuple[int, int]
    status: int
    headers: RawHeaders


def parse_head(raw: bytes) -> ParsedResponseHead:
    """Take apart a whole head; lines that are not headers are passed over."""
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
    """Match the status line, or say what is wrong with it."""
    matched = _STATUS_LINE.match(bytes(raw[:MAX_STATUS_LINE_BYTES]))
    if matched is None:
        check_magic(raw)
        raise NoStatusCode(f"The response has no status code: it starts with {quoted(raw)}.")
    return matched


def check_magic(raw: bytes | bytearray) -> None:
    """Refuse what can no longer become an HTTP answer."""
    if raw[: len(HTTP_MAGIC)].upper() != HTTP_MAGIC[: len(raw)]:
        raise InvalidResponse(f"The response is not HTTP: it starts with {quoted(raw)}.")


def quoted(raw: bytes | bytearray) -> str:
    """The first line of some bytes, cut, as a person can read it."""
    line = bytes(raw[: QUOTED_BYTES + 1]).partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    text = "".join(character if character.isprintable() else "\N{MIDDLE DOT}" for character in line)
    return f"“{text[:QUOTED_BYTES]}…”" if len(text) > QUOTED_BYTES else f"“{text}”"


MAX_CHUNK_LINE_BYTES = 16 * 1024

_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?", re.DOTALL)


class ResponseBody(Protocol):
    """A body as it arrives: both its bytes on the wire and its payload."""

    size: int
    """Bytes of payload so far."""
    overhead: int
    """Bytes on the wire so far that are not payload."""
    complete: bool
    excess: bool
    """Whether the server sent more than belongs to this answer."""

    def feed(self, data: bytes) -> None:
        """Take what arrived."""

    def finish(self) -> None:
        """The server closed the connection: complain if something is missing."""

    def raw(self) -> bytes:
        """The bytes on the wire."""

    def payload(self) -> bytes:
        """The bytes without framing."""


class PlainBody:
    """A body of a known length, or one that ends when the server closes the connection."""

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
        """Take what arrived, up to the length."""
        if self._length is not None and len(data) >= self._length - self.size:
            self.complete = True
            self.excess = len(data) > self._length - self.size
            if self.excess:
                data = data[: self._length - self.size]
        self._pieces.append(data)
        self.size += len(data)

    def finish(self) -> None:
        """A body without a length is whole now."""
        if self._length is not None and not self.complete:
            raise InvalidResponse(f"The body ended after {self.size:,} of {self._length:,} bytes.")
        self.complete = True

    def raw(self) -> bytes:
        """The bytes on the wire; nothing is copied when they came in one piece."""
        if self._joined is None:
            self._joined = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        return self._joined

    payload = raw


class ChunkedBody:
    """A body in chunks; the framing is kept beside the payload."""

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
        """Take what arrived, up to the end of the trailer."""
        position, end = 0, len(data)
        while position < end and not self.complete:
            position = self._take_data(data, position) if self._left else self._take_line(data, position)
        self.excess = position < end
        self._raw.append(data[:position] if self.excess else data)

    def finish(self) -> None:
        """The empty line after the last chunk may be missing."""
        if not self._in_trailer:
            raise InvalidResponse(f"The body ended after {self.size:,} bytes, before its last chunk.")
        self.complete = True

    def raw(self) -> bytes:
        """The bytes on the wire, framing and trailer included."""
        return b"".join(self._raw)

    def payload(self) -> bytes:
        """The chunks put together."""
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
            raise InvalidResponse(f"A line between two chunks is longer than {MAX_CHUNK_LINE_BYTES:,} bytes.")
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
            raise InvalidResponse(f"The body is not chunked as declared: {quoted(line)} is not a chunk size.")
        return int(matched[1], 16)


MAX_FRAMING_BYTES = 64 * 1024
"""Bytes of framing that any body may have; more, up to its largest size, needs a large body."""
MAX_INTERIM_RESPONSES = 20

_LENGTH = re.compile(rb"\d{1,18}")
_FRAMING_HEADERS = frozenset({b"connection", b"content-encoding", b"content-length", b"transfer-encoding"})


class ResponseReader:
    """Reads one answer to one request, and raises what is wrong with it as soon as that is known."""

    def __init__(self, ask: FetchRequest, max_head: int) -> None:
        self._ask = ask
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
        """What was done to the body, in this order: content codings, then transfer codings other than chunked."""
        self.body: ResponseBody | None = None

    @property
    def complete(self) -> bool:
        """Whether the whole answer is there."""
        return self.body is not None and self.body.complete

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another answer after this one."""
        return self._keep_alive and self.body is not None and self.body.complete and not self.body.excess

    @property
    def stage(self) -> str:
        """What is being waited for, in words."""
        if self.untouched:
            return "waiting for the response"
        if self.body is None:
            return "reading the headers"
        return f"reading the body, {self.body.size:,} bytes so far"

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        self.untouched = False
        if self.body is None:
            self._feed_head(data)
        else:
            self._feed_body(self.body, data)

    def finish(self) -> None:
        """The server closed the connection: complain if something is missing."""
        self._keep_alive = False
        if self.untouched:
            raise InvalidResponse("The server closed the connection without a response.")
        if self.body is not None:
            self.body.finish()
            return
        if self._buffer:
            check_status_line(self._buffer)
        raise InvalidResponse("The response ended within its headers.")

    def _feed_head(self, data: bytes) -> None:
        rest: bytes | None = data
        while rest and self.body is None:
            rest = self._take_head(rest)
        if rest and self.body is not None:
            self._feed_body(self.body, rest)

    def _take_head(self, data: bytes) -> bytes | None:
        """Return what follows a whole head; without one, keep the bytes and wait for more."""
        seen = len(self._buffer)
        if seen:
            self._buffer += data
        else:
            # Empty lines before the status line are no part of an answer (RFC 9112, 2.2).
            data = data.lstrip(b"\r\n")
        buffer = self._buffer if seen else data
        end = END_OF_HEAD.search(buffer, max(0, seen - 2))
        if (end.end() if end else len(buffer)) > self._max_head:
            raise InvalidResponse(f"The headers are larger than {self._max_head:,} bytes.")
        if end is None:
            self._wait_for_more(data, seen)
            return None
        raw, rest = bytes(buffer[: end.end()]), bytes(buffer[end.end() :])
        self._buffer.clear()
        self._use_head(raw, rest)
        return rest

    def _wait_for_more(self, data: bytes, seen: int) -> None:
        if not seen:
            self._buffer += data
        check_magic(self._buffer)
        if b"\n" in data:
            check_status_line(self._buffer)

    def _use_head(self, raw: bytes, rest: bytes) -> None:
        parsed = parse_head(raw)
        if parsed.status < 200 and parsed.status != 101:
            self._interim += 1
            if self._interim > MAX_INTERIM_RESPONSES:
                raise InvalidResponse(f"More than {MAX_INTERIM_RESPONSES} interim responses came before the final one.")
            return
        self.head, self.head_at = raw, monotonic()
        self.status, self.headers = parsed.status, parsed.headers
        self.body = self._open_body(parsed)
        self._show_head(self.body, rest)

    def _show_head(self, body: ResponseBody, rest: bytes) -> None:
        if self._ask.on_head is None:
            return
        try:
            self._ask.on_head(ResponseHead(self._ask.url, self.status, self.headers))
        except Exception:
            # A refused body that is here already costs nothing more, and leaves the connection of use.
            with suppress(DownloadError):
                body.feed(rest)
            raise

    def _feed_body(self, body: ResponseBody, data: bytes) -> None:
        body.feed(data)
        limit = self._ask.max_size
        if limit and (body.size > limit or body.overhead > limit + MAX_FRAMING_BYTES):
            raise BodyTooLarge(f"The body is larger than {limit:,} bytes.")

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
            # Nobody asked for another protocol; what follows is not HTTP.
            self._keep_alive = False
        if parsed.status in (101, 204, 304) or self._ask.method == "HEAD":
            return PlainBody(0)
        if transfer:
            # RFC 9112, 6.3: a length beside a transfer coding is overridden, and the connection not to be trusted.
            self._keep_alive = self._keep_alive and b"content-length" not in fields
            self.codings += [coding for coding in transfer if coding != b"chunked"]
            return ChunkedBody() if transfer[-1] == b"chunked" else self._until_close()
        length = _one_length(fields.get(b"content-length", []))
        return PlainBody(length) if length is not None else self._until_close()

    def _opens_tunnel(self, status: int) -> bool:
        return self._ask.method == "CONNECT" and status < 300

    def _until_close(self) -> ResponseBody:
        self._keep_alive = False
        return PlainBody(None)


def framing_fields(headers: RawHeaders) -> dict[bytes, list[bytes]]:
    """Return what the headers say of the body: how it is framed, and how it is coded."""
    fields: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in _FRAMING_HEADERS:
            members = [member.strip() for member in value.lower().split(b",")]
            fields.setdefault(lower, []).extend(member for member in members if member)
    return fields


def _one_length(values: list[bytes]) -> int | None:
    lengths = {int(value) for value in values if _LENGTH.fullmatch(value)}
    if len(lengths) > 1:
        raise InvalidResponse("The headers declare different lengths of the body.")
    return lengths.pop() if lengths else None
