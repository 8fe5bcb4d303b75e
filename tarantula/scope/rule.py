"""Interface of a scope rule: the candidates and responses that it judges, and the verdict that it returns."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from tarantula.core.states import DocumentState
from tarantula.core.urls import is_web, server_of
from tarantula.links.link import LinkKind


class Candidate(NamedTuple):
    """What the rules know before anything is asked of a server."""

    url: str
    """Canonical."""
    server: str
    depth: int
    """Links from the base document; a redirect has the depth of the document that redirects."""
    kind: int = LinkKind.NAVIGATION
    """A `LinkKind`, or its number."""
    redirects: int = 0
    """How many redirects in a row led here."""
    via: str = ""
    """The URL of the page that names it; empty when its turn has come, and it is judged once more."""

    @classmethod
    def of(cls, url: str, depth: int, kind: int = LinkKind.NAVIGATION, redirects: int = 0) -> Candidate:
        """Make a candidate of a canonical URL, of the web or not."""
        return cls(url, server_of(url) if is_web(url) else "", depth, kind, redirects)


class CandidateResponse(NamedTuple):
    """What the rules know when the headers have come."""

    url: str
    media_type: str | None
    """As `tarantula.fetch.media_types.media_type` reads it; ``None`` when the header says nothing usable."""
    length: int | None
    status: int = 200

    @property
    def is_success(self) -> bool:
        """Whether this is the document itself: error pages and redirects are kept whatever their type."""
        return 200 <= self.status < 300


class Verdict(NamedTuple):
    """A decision. A refusal has the state that the document ends in, or ``None`` if it is no document at all."""

    accepted: bool
    rule: str
    """The name of the class that decided."""
    state: DocumentState | None
    reason: str
    """One sentence a person can read."""


def accept(rule: object, reason: str) -> Verdict:
    """*rule* lets it in, unless a later one refuses."""
    return Verdict(True, type(rule).__name__, None, reason)


def refuse(rule: object, state: DocumentState | None, reason: str) -> Verdict:
    """*rule* refuses it, and nothing after it is asked."""
    return Verdict(False, type(rule).__name__, state, reason)


Subject_contra = TypeVar("Subject_contra", contravariant=True)


class ScopeRule(Protocol[Subject_contra]):
    """A question with three answers: accepted, refused, or ``None`` for no opinion."""

    def judge(self, subject: Subject_contra, /) -> Verdict | None:
        """Answer it."""
