"""Is it larger than the publication takes?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_answer import CandidateResponse
from tarantula.scope.rule_part_verdict import Verdict, refuse


class TooLarge:
    """Refuses documents over the largest size: by what their Content-Length says."""

    def __init__(self, publication: str, max_size: int) -> None:
        self._publication = publication
        self.max_size = max_size

    def judge(self, answer: CandidateResponse) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if answer.length is None or answer.length <= self.max_size:
            return None
        reason = f"It has {answer.length:,} bytes, and {self._publication} takes at most {self.max_size:,}."
        return refuse(self, DocumentState.TOO_LARGE, reason)
