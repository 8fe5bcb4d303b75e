"""Content codings undone, within a limit that no bomb can pass."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from tarantula.fetch.content_coding import DECOMPRESSION_ERRORS, DECOMPRESSORS
from tarantula.fetch.errors import BodyTooLarge
from tarantula.fetch.response_part_head import quoted

MAX_DECODED_BYTES = 1 << 30
"""Bytes that a body may unpack to when nobody set a limit."""
MAX_CODINGS = 4
"""Codings one upon the other; servers that repeat themselves send two."""
MAX_STREAMS = 10_000
"""Streams one after the other in one body, as gzip allows."""

_NEXT_STREAM = {b"gzip": b"\x1f\x8b", b"x-gzip": b"\x1f\x8b", b"zstd": b"\x28\xb5\x2f\xfd"}
_INPUT = 16 * 1024
_NOTHING = frozenset({b"identity", b"none"})


class DecodedBody(NamedTuple):
    """A body, and what was odd about it."""

    body: bytes
    note: str = ""


class _BrokenOff(Exception):
    """The stream has no end."""


def decode_body(payload: bytes, codings: Sequence[bytes], max_size: int = 0) -> DecodedBody:
    """Undo the codings, the last one first; what cannot be undone stays as it was sent."""
    limit = max_size or MAX_DECODED_BYTES
    notes = []
    for coding in [coding for coding in reversed(codings) if coding not in _NOTHING][:MAX_CODINGS]:
        name = coding.decode("latin-1")
        if coding not in DECOMPRESSORS:
            notes.append(f"The content coding {quoted(coding)} is not known here; the body is as it was sent.")
            break
        if payload:
            payload, note = _undo(payload, coding, name, limit)
            notes.append(note)
    return DecodedBody(payload, " ".join(filter(None, notes)))


def _undo(payload: bytes, coding: bytes, name: str, limit: int) -> DecodedBody:
    output: list[bytes] = []
    size = 0
    problem = ""
    try:
        for piece in _streams(payload, coding):
            output.append(piece)
            size += len(piece)
            if size > limit:
                raise BodyTooLarge(f"The body unpacks to more than {limit:,} bytes.")
    except _BrokenOff:
        problem = "it breaks off"
    except DECOMPRESSION_ERRORS as error:
        problem = str(error)
    if problem and not size:
        return DecodedBody(payload, f"The body is not {name} as it says ({problem}); it is as it was sent.")
    body = output[0] if len(output) == 1 else b"".join(output)
    return DecodedBody(body, problem and f"The {name} stream could not be unpacked after {size:,} bytes ({problem}).")


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
        if engine.hungry:
            data = payload[position : position + _INPUT]
            position += len(data)
            if not data:
                raise _BrokenOff
        yield engine.unpack(data)
    return position - len(engine.unused)
