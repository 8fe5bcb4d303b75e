"""Content codings undone, within a limit that no bomb can pass."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from tarantula.fetch.content_coding import ENGINES, ERRORS
from tarantula.fetch.errors import TooLarge
from tarantula.fetch.response_part_head import quoted

MOST_UNPACKED = 1 << 30
"""Bytes that a body may unpack to when nobody set a limit."""
MOST_CODINGS = 4
"""Codings one upon the other; servers that repeat themselves send two."""
MOST_STREAMS = 10_000
"""Streams one after the other in one body, as gzip allows."""

_NEXT_STREAM = {b"gzip": b"\x1f\x8b", b"x-gzip": b"\x1f\x8b", b"zstd": b"\x28\xb5\x2f\xfd"}
_INPUT = 16 * 1024
_NOTHING = frozenset({b"identity", b"none"})


class Decoded(NamedTuple):
    """A body, and what was odd about it."""

    body: bytes
    note: str = ""


class _BrokenOff(Exception):
    """The stream has no end."""


def decode(payload: bytes, codings: Sequence[bytes], max_size: int = 0) -> Decoded:
    """Undo the codings, the last one first; what cannot be undone stays as it was sent."""
    limit = max_size or MOST_UNPACKED
    notes = []
    for coding in [coding for coding in reversed(codings) if coding not in _NOTHING][:MOST_CODINGS]:
        name = coding.decode("latin-1")
        if coding not in ENGINES:
            notes.append(f"The content coding {quoted(coding)} is not known here; the body is as it was sent.")
            break
        if payload:
            payload, note = _undo(payload, coding, name, limit)
            notes.append(note)
    return Decoded(payload, " ".join(filter(None, notes)))


def _undo(payload: bytes, coding: bytes, name: str, limit: int) -> Decoded:
    output: list[bytes] = []
    size = 0
    problem = ""
    try:
        for piece in _streams(payload, coding):
            output.append(piece)
            size += len(piece)
            if size > limit:
                raise TooLarge(f"The body unpacks to more than {limit:,} bytes.")
    except _BrokenOff:
        problem = "it breaks off"
    except ERRORS as error:
        problem = str(error)
    if problem and not size:
        return Decoded(payload, f"The body is not {name} as it says ({problem}); it is as it was sent.")
    body = output[0] if len(output) == 1 else b"".join(output)
    return Decoded(body, problem and f"The {name} stream could not be unpacked after {size:,} bytes ({problem}).")


def _streams(payload: bytes, coding: bytes) -> Iterator[bytes]:
    magic = _NEXT_STREAM.get(coding)
    start = 0
    for _ in range(MOST_STREAMS):
        start = yield from _stream(payload, coding, start)
        if magic is None or not payload.startswith(magic, start):
            return


def _stream(payload: bytes, coding: bytes, position: int) -> Generator[bytes, None, int]:
    engine = ENGINES[coding](payload)
    while not engine.eof:
        data = b""
        if engine.hungry:
            data = payload[position : position + _INPUT]
            position += len(data)
            if not data:
                raise _BrokenOff
        yield engine.unpack(data)
    return position - len(engine.unused)
