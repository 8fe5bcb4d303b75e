"""Why a document could not be had: a state and a sentence."""

from __future__ import annotations

from tarantula.core.states import DocumentState


class DownloadError(Exception):
    """The exchange failed, or was ended on purpose; `state` says how and the message says why."""

    state: DocumentState = DocumentState.SYSTEM_ERROR

    @property
    def reason(self) -> str:
        """One sentence a person can read."""
        return str(self)


class InvalidResponse(DownloadError):
    """What came back is not HTTP, or breaks off."""

    state = DocumentState.INVALID_RESPONSE


class NoStatusCode(DownloadError):
    """It looks like HTTP, but has no status code."""

    state = DocumentState.NO_CODE


class BodyTooLarge(DownloadError):
    """The body is, or unpacks to, more than is allowed."""

    state = DocumentState.TOO_LARGE


class FetchTimeout(DownloadError):
    """The document's time is over."""

    state = DocumentState.TIMEOUT


class ServerUnreachable(DownloadError):
    """DNS, refused, reset, TLS."""

    state = DocumentState.SYSTEM_ERROR


class InvalidRequest(DownloadError):
    """The request itself cannot be written: its URL, a header, its proxy."""

    state = DocumentState.SYSTEM_ERROR


class FetchAbandoned(DownloadError):
    """The collection is over: the document waits until it goes on."""


class PrivateAddress(DownloadError):
    """The server's name leads to an address that a public publication must not reach."""

    state = DocumentState.SERVER_NOT_ACCEPTED


class RefusedByRule(DownloadError):
    """A rule refused the document when its headers were read."""

    def __init__(self, state: DocumentState, reason: str, rule: str = "") -> None:
        super().__init__(reason)
        self.state = state
        self.rule = rule
