"""Decompression of response bodies (gzip, deflate, br, zstd), limited in size against decompression bombs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from tarantula.core.reasons import Reason
from tarantula.fetch.exchange import BodyTooLarge
from tarantula.fetch.response import quoted

OUTPUT_CHUNK_BYTES = 64 * 1024
"""Approximate bytes of output per step."""
MAX_WINDOW_LOG = 23
"""RFC 9659: a window of 8 MiB, as a power of two."""


class Decompressor(Protocol):
    """Decompressor of one stream."""

    eof: bool
    needs_input: bool
    """Whether it needs more input; otherwise more output is pending."""
    unused: bytes
    """Input after the end of the stream."""

    def decompress(self, data: bytes) -> bytes:
        """Decompress *data* to about `OUTPUT_CHUNK_BYTES` of output; raise one of `DECOMPRESSION_ERRORS`."""


class InflateDecompressor:
    """Gzip and deflate, with or without the zlib header."""

    def __init__(self, window_bits: int) -> None:
        self._stream = zlib.decompressobj(window_bits)
        self.eof = False
        self.needs_input = True
        self.unused = b""

    def decompress(self, data: bytes) -> bytes:
        output = self._stream.decompress(self._stream.unconsumed_tail + data, OUTPUT_CHUNK_BYTES)
        self.eof = self._stream.eof
        self.needs_input = len(output) < OUTPUT_CHUNK_BYTES and not self._stream.unconsumed_tail
        self.unused = self._stream.unused_data
        return output


class BrotliDecompressor:
    """RFC 7932."""

    def __init__(self, module: Any) -> None:
        self._stream = module.Decompressor()
        self.eof = False
        self.needs_input = True
        self.unused = b""

    def decompress(self, data: bytes) -> bytes:
        output: bytes = self._stream.process(data, output_buffer_limit=OUTPUT_CHUNK_BYTES)
        self.eof = self._stream.is_finished()
        self.needs_input = len(output) < OUTPUT_CHUNK_BYTES and self._stream.can_accept_more_data()
        return output


class ZstandardDecompressor:
    """RFC 8878."""

    def __init__(self, module: Any) -> None:
        self._stream = module.ZstdDecompressor(options={module.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})
        self.eof = False
        self.needs_input = True
        self.unused = b""

    def decompress(self, data: bytes) -> bytes:
        output: bytes = self._stream.decompress(data, OUTPUT_CHUNK_BYTES)
        self.eof = self._stream.eof
        self.needs_input = self._stream.needs_input
        self.unused = self._stream.unused_data
        return output


def _deflate(payload: bytes) -> Decompressor:
    # RFC 9110 means zlib by "deflate"; some servers send the raw stream.
    has_zlib_header = len(payload) > 1 and payload[0] & 15 == 8 and (payload[0] << 8 | payload[1]) % 31 == 0
    return InflateDecompressor(zlib.MAX_WBITS if has_zlib_header else -zlib.MAX_WBITS)


def _gzip(_payload: bytes) -> Decompressor:
    return InflateDecompressor(zlib.MAX_WBITS + 16)


def _installed(*names: str, attribute: str) -> Any:
    for name in names:
        try:
            module = import_module(name)
        except ImportError:
            continue
        if hasattr(module, attribute):
            return module
    return None


_brotli = _installed("brotli", attribute="Decompressor")
_zstd = _installed("compression.zstd", "backports.zstd", attribute="ZstdDecompressor")

DECOMPRESSORS: dict[bytes, Callable[[bytes], Decompressor]] = {
    b"gzip": _gzip,
    b"x-gzip": _gzip,
    b"deflate": _deflate,
}
DECOMPRESSION_ERRORS: tuple[type[Exception], ...] = (zlib.error,)

# Before 1.2, brotli could not limit its output.
if _brotli is not None and hasattr(_brotli.Decompressor, "can_accept_more_data"):
    DECOMPRESSORS[b"br"] = lambda _payload: BrotliDecompressor(_brotli)
    DECOMPRESSION_ERRORS += (_brotli.error,)
if _zstd is not None:
    DECOMPRESSORS[b"zstd"] = lambda _payload: ZstandardDecompressor(_zstd)
    DECOMPRESSION_ERRORS += (_zstd.ZstdError,)


MAX_DECODED_BYTES = 1 << 30
"""Maximum size of a decoded body if the request sets no limit."""
MAX_CODINGS = 4
"""Nested codings; misconfigured servers send two."""
MAX_STREAMS = 10_000
"""Consecutive streams in one body, as gzip allows."""

_NEXT_STREAM = {b"gzip": b"\x1f\x8b", b"x-gzip": b"\x1f\x8b", b"zstd": b"\x28\xb5\x2f\xfd"}
_INPUT_CHUNK_BYTES = 16 * 1024
_IDENTITY = frozenset({b"identity", b"none"})


class DecodedBody(NamedTuple):
    """A decoded body, with notes if it could not be decoded completely."""

    body: bytes
    notes: tuple[Reason, ...] = ()


class _Incomplete(Exception):
    """The stream ends before its end marker."""


def decode_body(payload: bytes, codings: Sequence[bytes], max_size: int = 0) -> DecodedBody:
    """Decode a body, the last coding first; stop at a coding that is unknown or broken."""
    limit = max_size or MAX_DECODED_BYTES
    notes: list[Reason] = []
    for coding in [coding for coding in reversed(codings) if coding not in _IDENTITY][:MAX_CODINGS]:
        name = coding.decode("latin-1")
        if coding not in DECOMPRESSORS:
            notes.append(Reason.of("coding_unknown", coding=quoted(coding)))
            break
        if payload:
            payload, found = _decode_one(payload, coding, name, limit)
            notes += found
    return DecodedBody(payload, tuple(notes))


def _decode_one(payload: bytes, coding: bytes, name: str, limit: int) -> DecodedBody:
    output: list[bytes] = []
    size = 0
    problem: Reason | str | None = None
    try:
        for piece in _streams(payload, coding):
            output.append(piece)
            size += len(piece)
            if size > limit:
                raise BodyTooLarge(Reason.of("decoded_too_large", limit=limit))
    except _Incomplete:
        problem = Reason.of("stream_incomplete")
    except DECOMPRESSION_ERRORS as error:
        problem = str(error)
    if problem is None:
        return DecodedBody(b"".join(output))
    if not size:
        return DecodedBody(payload, (Reason.of("coding_wrong", coding=name, problem=problem),))
    return DecodedBody(b"".join(output), (Reason.of("decoded_in_part", coding=name, size=size, problem=problem),))


def _streams(payload: bytes, coding: bytes) -> Iterator[bytes]:
    magic = _NEXT_STREAM.get(coding)
    start = 0
    for _ in range(MAX_STREAMS):
        start = yield from _stream(payload, coding, start)
        if magic is None or not payload.startswith(magic, start):
            return


def _stream(payload: bytes, coding: bytes, position: int) -> Generator[bytes, None, int]:
    engine = DECOMPRESSORS[coding](payload)
    while not engine.eof:
        data = b""
        if engine.needs_input:
            data = payload[position : position + _INPUT_CHUNK_BYTES]
            position += len(data)
            if not data:
                raise _Incomplete
        yield engine.decompress(data)
    return position - len(engine.unused)
