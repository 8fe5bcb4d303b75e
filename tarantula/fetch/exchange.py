"""One exchange over HTTP: the request, the response, and the errors that end it without one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Self

from tarantula.core.process import open_files_limit
from tarantula.core.reasons import Reason, as_reason
from tarantula.core.states import DocumentState, Shortage

if TYPE_CHECKING:
    from tarantula.fetch.egress import EgressPolicy

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class ResponseHead:
    """Status and headers of a response, before its body is read."""

    url: str
    status: int
    headers: RawHeaders

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        for key, value in self.headers:
            if key.lower() == name:
                return value.decode("latin-1")
        return None

    @property
    def length(self) -> int | None:
        """Value of the Content-Length header, or ``None`` if it is missing or invalid."""
        text = (self.get(b"content-length") or "").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


@dataclass(slots=True)
class FetchRequest:
    """A request, with the limits of its response."""

    url: str
    headers: RawHeaders = field(default_factory=list)
    method: str = "GET"
    body: bytes = b""
    timeout: float = 300.0
    """Seconds for the whole exchange, from name resolution to the last byte."""
    max_size: int = 0
    """Maximum size of the body in bytes, as received and decoded; 0 for no limit."""
    on_head: Callable[[ResponseHead], None] | None = None
    """Called before the body is read; an exception ends the download."""
    proxy: str = ""
    """URL of an HTTP proxy, with user and password if needed; empty for a direct connection."""
    is_repeatable: bool = False
    """Whether the request is safe to repeat, whatever its method."""
    policy: EgressPolicy | None = None
    """Which addresses may be connected to; by default the client's."""


@dataclass(slots=True)
class Exchange:
    """A request and its response, with the bytes as transferred."""

    url: str
    request: bytes
    head: bytes
    """Status line and headers as received, including the final empty line."""
    raw_body: bytes
    """The body as received, with chunked framing and compression."""
    body: bytes
    """The body without transfer and content codings."""
    status: int
    headers: RawHeaders
    address: str
    """Address of the peer, which is the proxy if there is one."""
    started_at: datetime
    duration: float
    tls: str = ""
    """TLS version and cipher; empty for http."""
    latency: float = 0.0
    """Seconds until the response head arrived."""
    notes: tuple[Reason, ...] = ()
    """Notes, as when the body could not be decoded as declared."""
    truncated: str = ""
    """Why the body is incomplete, as in WARC-Truncated; empty if it is complete."""
    not_modified: Exchange | None = None
    """The 304 response to a conditional request; this exchange then is the earlier capture that it confirms."""

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        return ResponseHead(self.url, self.status, self.headers).get(name)


class DownloadError(Exception):
    """The exchange failed or was refused. `state` and `reason` become those of the document."""

    state: DocumentState = DocumentState.SYSTEM_ERROR

    def __init__(self, reason: Reason | str) -> None:
        self.reason = as_reason(reason)
        super().__init__(self.reason)


class InvalidResponse(DownloadError):
    """The response is not HTTP, or incomplete."""

    state = DocumentState.INVALID_RESPONSE


class TruncatedBody(InvalidResponse):
    """The connection ended before the body was complete."""

    exchange: Exchange | None = None
    """What arrived of the response."""

    @classmethod
    def of(cls, failure: DownloadError, exchange: Exchange) -> Self:
        """Return the error of an exchange whose connection ended with *failure*."""
        error = cls(failure.reason)
        error.state, error.exchange = failure.state, exchange
        return error


class NoStatusCode(DownloadError):
    """The response starts like HTTP, but has no status code."""

    state = DocumentState.NO_CODE


class BodyTooLarge(DownloadError):
    """The body, as received or decoded, is larger than allowed."""

    state = DocumentState.TOO_LARGE


class FetchTimeout(DownloadError):
    """The fetch took longer than allowed."""

    state = DocumentState.TIMEOUT


class ServerUnreachable(DownloadError):
    """The name does not resolve, or the connection was refused, reset or failed in TLS."""

    state = DocumentState.SYSTEM_ERROR


class InvalidRequest(DownloadError):
    """The request cannot be serialized: its URL, a header or its proxy is invalid."""

    state = DocumentState.SYSTEM_ERROR


class FetchAbandoned(DownloadError):
    """The collection ended; the document waits until it is resumed."""


class FetchPostponed(DownloadError):
    """The document was not requested and must wait: it goes back to the frontier, and no try is counted."""

    state = DocumentState.WAITING


class LocalResourceError(FetchPostponed):
    """This machine has no open file, port, memory or process left for a request; the server is not to blame."""

    def __init__(self, reason: Reason | str, shortage: Shortage) -> None:
        super().__init__(reason)
        self.shortage = shortage


class PrivateAddress(DownloadError):
    """The server is at an address that the egress policy does not permit."""

    state = DocumentState.SERVER_NOT_ACCEPTED

    @property
    def host(self) -> str:
        """Host that is at the address."""
        return str(self.reason.parameters["host"])


class RefusedByRule(DownloadError):
    """A scope rule or robots.txt refused the document."""

    def __init__(self, state: DocumentState, reason: Reason | str, rule: str = "") -> None:
        super().__init__(reason)
        self.state = state
        self.rule = rule


def local_resource_error(error: OSError) -> LocalResourceError | None:
    """Return the error for a connection that failed because this machine lacks something, else ``None``."""
    match error.errno:
        case errno.EMFILE:
            return LocalResourceError(Reason.of("files_of_process", limit=open_files_limit()), Shortage.FILES)
        case errno.ENFILE:
            return LocalResourceError(Reason.of("files_of_machine"), Shortage.FILES)
        case errno.EADDRNOTAVAIL:
            return LocalResourceError(Reason.of("ports_of_machine"), Shortage.PORTS)
        case errno.ENOBUFS | errno.ENOMEM:
            return LocalResourceError(Reason.of("memory_of_machine"), Shortage.MEMORY)
    return None


LAUNCH_ERRNOS = {errno.errorcode[number]: number for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)}
"""Errors for which a process cannot be started, by the names that Node.js and Chromium report."""


def launch_error(error: Exception) -> LocalResourceError | None:
    """Return the error for a browser that this machine could not start for want of something, else ``None``."""
    text = str(error)
    for name, number in LAUNCH_ERRNOS.items():
        if getattr(error, "errno", None) == number or name in text or os.strerror(number) in text:
            return local_resource_error(OSError(number, name))
    if isinstance(error, BlockingIOError) or "EAGAIN" in text or os.strerror(errno.EAGAIN) in text:
        return LocalResourceError(Reason.of("processes_of_machine"), Shortage.PROCESSES)
    return None
