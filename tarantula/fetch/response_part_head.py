"""Status line and headers, read with the patience of a browser."""

from __future__ import annotations

import re
from typing import NamedTuple

from tarantula.fetch.errors import InvalidResponse, NoStatusCode
from tarantula.fetch.exchange import RawHeaders

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
        raise NoStatusCode(f"The answer has no status code: it begins with {quoted(raw)}.")
    return matched


def check_magic(raw: bytes | bytearray) -> None:
    """Refuse what can no longer become an HTTP answer."""
    if raw[: len(HTTP_MAGIC)].upper() != HTTP_MAGIC[: len(raw)]:
        raise InvalidResponse(f"The answer is not HTTP: it begins with {quoted(raw)}.")


def quoted(raw: bytes | bytearray) -> str:
    """The first line of some bytes, cut, as a person can read it."""
    line = bytes(raw[: QUOTED_BYTES + 1]).partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    text = "".join(character if character.isprintable() else "\N{MIDDLE DOT}" for character in line)
    return f"“{text[:QUOTED_BYTES]}…”" if len(text) > QUOTED_BYTES else f"“{text}”"
