"""Interface of a scope rule: the candidates and responses that it judges, and the verdict that it returns."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from tarantula.core.reasons import Reason, as_reason
from tarantula.core.states import DocumentState
from tarantula.core.urls import is_web, server_of
from tarantula.fetch.exchange import ResponseHead
from tarantula.links.link import LinkKind

Subject_contra = TypeVar("Subject_contra", contravariant=True)


class Candidate(NamedTuple):
    """A URL before it is requested."""

    url: str
    """Canonical."""
    server: str
    depth: int
    """Links from the base document; the target of a redirect has the depth of the document that redirects."""
    kind: int = LinkKind.NAVIGATION
    """A `LinkKind`, or its number."""
    redirects: int = 0
    """Number of consecutive redirects that led to it."""
    via: str = ""
    """URL of the page with the link; empty if the document is about to be requested, and judged again."""

    @classmethod
    def of(cls, url: str, depth: int, kind: int = LinkKind.NAVIGATION, redirects: int = 0) -> Candidate:
        """Return the candidate of a canonical URL with any scheme."""
        return cls(url, server_of(url) if is_web(url) else "", depth, kind, redirects)


class CandidateResponse(NamedTuple):
    """A response before its body is read, or once more when its body is there."""

    head: ResponseHead
    """URL, status and all headers."""
    media_type: str | None
    """Type by the Content-Type header, or of the body when it is there; ``None`` if it is unknown."""
    length: int | None
    """Bytes by the Content-Length header, or of the body when it is there."""

    @property
    def url(self) -> str:
        """URL of the document."""
        return self.head.url

    @property
    def is_success(self) -> bool:
        """Whether it is the document itself; error pages and redirects are kept whatever their type."""
        return 200 <= self.head.status < 300


class Verdict(NamedTuple):
    """Decision of a rule."""

    accepted: bool
    rule: str
    """Name of the rule's class."""
    state: DocumentState | None
    """Final state of a refused document; ``None`` if it does not become a document at all."""
    reason: Reason


class ScopeRule(Protocol[Subject_contra]):
    """A question about a candidate, a response or a server."""

    def judge(self, subject: Subject_contra, /) -> Verdict | None:
        """Accept or refuse the subject, or return ``None`` for no opinion."""


def accept(rule: object, reason: Reason | str) -> Verdict:
    """Return the verdict that *rule* accepts; a later rule may still refuse."""
    return Verdict(True, type(rule).__name__, None, as_reason(reason))


def refuse(rule: object, state: DocumentState | None, reason: Reason | str) -> Verdict:
    """Return the verdict that *rule* refuses, which is final. A sentence is stored with the code ``text``."""
    return Verdict(False, type(rule).__name__, state, as_reason(reason))
