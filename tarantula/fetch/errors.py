"""Exceptions of a failed or refused fetch; each has a document state and a message."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Self

from tarantula.core.process import open_files_limit
from tarantula.core.reasons import Reason, as_reason
from tarantula.core.states import DocumentState, Shortage

if TYPE_CHECKING:
    from tarantula.fetch.exchange import Exchange


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
