"""Where a body ends: RFC 9112, section 6.3, with the patience of a browser."""

from __future__ import annotations

import re
from typing import Protocol

from tarantula.fetch.errors import InvalidResponse
from tarantula.fetch.response_part_head import quoted

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
            raise InvalidResponse(f"The body broke off after {self.size:,} of {self._length:,} bytes.")
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
            raise InvalidResponse(f"The body broke off after {self.size:,} bytes, before its last chunk.")
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
            raise InvalidResponse(f"The body is not in chunks as it says: {quoted(line)} is not the size of one.")
        return int(matched[1], 16)
