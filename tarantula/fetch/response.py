"""An answer as it arrives: bytes in, head and body out. It knows nothing of connections."""

from __future__ import annotations

import re
from contextlib import suppress
from time import monotonic

from tarantula.fetch.errors import BodyTooLarge, DownloadError, InvalidResponse
from tarantula.fetch.exchange import FetchRequest, RawHeaders, ResponseHead
from tarantula.fetch.response_part_framing import ChunkedBody, PlainBody, ResponseBody
from tarantula.fetch.response_part_head import (
    END_OF_HEAD,
    ParsedResponseHead,
    check_magic,
    check_status_line,
    parse_head,
)

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
            return "waiting for the answer"
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
            raise InvalidResponse("The server closed the connection without an answer.")
        if self.body is not None:
            self.body.finish()
            return
        if self._buffer:
            check_status_line(self._buffer)
        raise InvalidResponse("The answer broke off in its headers.")

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
                raise InvalidResponse(f"More than {MAX_INTERIM_RESPONSES} interim answers came before the real one.")
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
        raise InvalidResponse("The headers give different lengths for one body.")
    return lengths.pop() if lengths else None
