"""A request of HTTP/1.1, as programs write it that ask one another: what is odd is refused, not guessed at."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

LARGEST_HEAD = 16 * 1024
"""Bytes of a request before its body."""
LARGEST_BODY = 1_000_000
JSON_TYPE = "application/json"
END_OF_HEAD = b"\r\n\r\n"

_LINE = re.compile(r"([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/1\.([01])")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_LENGTH = re.compile(r"\d{1,12}")


class HttpError(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class RequestHead(NamedTuple):
    """A request without its body."""

    method: str
    path: str
    version: int
    headers: dict[str, str]

    @property
    def length(self) -> int:
        """Bytes of the body, or why it is not read."""
        if "transfer-encoding" in self.headers:
            raise HttpError(HTTPStatus.LENGTH_REQUIRED, "Say how long the body is, with Content-Length.")
        length = self.headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length):
            raise HttpError(HTTPStatus.BAD_REQUEST, "The Content-Length is no number.")
        if int(length) > LARGEST_BODY:
            sentence = f"The body is larger than {LARGEST_BODY:,} bytes."
            raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
        # A browser that another site sends here may not say that it is JSON without asking first.
        if int(length) and self.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON_TYPE:
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send it as {JSON_TYPE}.")
        return int(length)

    @property
    def is_last(self) -> bool:
        """Whether the connection is closed behind the request."""
        wish = self.headers.get("connection", "").lower()
        return wish == "close" or (not self.version and wish != "keep-alive")


def parse_head(received: bytes) -> tuple[RequestHead, bytes] | None:
    """Return a request up to its body, and what comes behind it; nothing if it is not whole yet."""
    raw, end, rest = received.partition(END_OF_HEAD)
    if len(raw) > LARGEST_HEAD:
        sentence = f"The head of the request is larger than {LARGEST_HEAD:,} bytes."
        raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, sentence)
    return (_parsed(raw.decode("latin-1")), rest) if end else None


def _parsed(raw: str) -> RequestHead:
    first, *lines = raw.split("\r\n")
    begun = _LINE.fullmatch(first)
    pairs = [_HEADER.fullmatch(line) for line in lines]
    if begun is None or None in pairs:
        raise HttpError(HTTPStatus.BAD_REQUEST, "This is no request of HTTP/1.1.")
    headers = [(pair[1].lower(), pair[2]) for pair in pairs if pair]
    if sum(name == "content-length" for name, _ in headers) > 1:
        raise HttpError(HTTPStatus.BAD_REQUEST, "There is more than one Content-Length.")
    return RequestHead(begun[1], begun[2], int(begun[3]), dict(headers))
