"""Is it a server that nobody asked for?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_verdict import Verdict, refuse


class ServerNotAccepted:
    """Refuses every server that no rule before it let in."""

    def __init__(self, publication: str) -> None:
        self._publication = publication

    def judge(self, server: str) -> Verdict:
        """Refuse it."""
        reason = f"The server {server} is not among the accepted servers of {self._publication}."
        return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)
