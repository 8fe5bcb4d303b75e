"""Exceptions of a failed or refused fetch; each has a document state and a message."""

from __future__ import annotations

from tarantula.core.states import DocumentState


class DownloadError(Exception):
    """The exchange failed or was refused. `state` becomes the document's state, the message its reason."""

    state: DocumentState = DocumentState.SYSTEM_ERROR

    @property
    def reason(self) -> str:
        """The message, one sentence for people."""
        return str(self)


class InvalidResponse(DownloadError):
    """The response is not HTTP, or incomplete."""

    state = DocumentState.INVALID_RESPONSE


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


class PrivateAddress(DownloadError):
    """The server is at a private address, and the publication may only visit public ones."""

    state = DocumentState.SERVER_NOT_ACCEPTED


class RefusedByRule(DownloadError):
    """A scope rule or robots.txt refused the document."""

    def __init__(self, state: DocumentState, reason: str, rule: str = "") -> None:
        super().__init__(reason)
        self.state = state
        self.rule = rule
