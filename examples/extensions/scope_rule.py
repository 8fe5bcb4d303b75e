"""A scope rule: refuse print versions of pages."""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.publications.config import PublicationConfig
from tarantula.scope.rule import Candidate, Verdict, refuse


class PrintPage:
    """Refuse print versions of pages."""

    def __init__(self, config: PublicationConfig) -> None:
        self._publication = config.name

    def judge(self, candidate: Candidate) -> Verdict | None:
        if "/print/" not in candidate.url:
            return None
        return refuse(self, DocumentState.OVER_LIMIT, f"{self._publication} has no print pages.")
