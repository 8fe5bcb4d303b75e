"""A URL that asks to become a document."""

from __future__ import annotations

from typing import NamedTuple

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
