"""A header check: refuse documents that ask not to be indexed."""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.publications.config import PublicationConfig
from tarantula.scope.rule import CandidateResponse, Verdict, refuse


class NoIndex:
    """Refuse documents with ``X-Robots-Tag: noindex``."""

    def __init__(self, config: PublicationConfig) -> None:
        self._publication = config.name

    def judge(self, response: CandidateResponse) -> Verdict | None:
        if response.head.get(b"x-robots-tag") != "noindex":
            return None
        return refuse(self, DocumentState.EXCLUDED_BY_ROBOTS, "It has X-Robots-Tag: noindex.")
