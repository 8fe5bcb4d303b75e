"""Is it the end of a chain of redirects that does not end?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

MAX_REDIRECTS = 20
"""In a row, as browsers do (Fetch, HTTP-redirect fetch)."""


class TooManyRedirects:
    """Refuses what lies behind more redirects in a row than a browser would follow."""

    def __init__(self, most: int = MAX_REDIRECTS) -> None:
        self._most = most

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if candidate.redirects <= self._most:
            return None
        reason = f"{candidate.redirects} redirects in a row lead here, and {self._most} is the limit."
        return refuse(self, DocumentState.OVER_LIMIT, reason)
