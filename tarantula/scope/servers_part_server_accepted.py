"""Is it a server that the publication takes beside its base server?"""

from __future__ import annotations

from tarantula.scope.patterns import ServerPatterns
from tarantula.scope.rule_part_verdict import Verdict, accept


class ServerAccepted:
    """Lets in the servers that an accepting pattern takes."""

    def __init__(self, publication: str, patterns: ServerPatterns) -> None:
        self._publication = publication
        self._patterns = patterns

    def judge(self, server: str) -> Verdict | None:
        """Let it in, or have no opinion."""
        pattern = self._patterns.match(server)
        if pattern is None:
            return None
        return accept(self, f"The server {server} is accepted in {self._publication} by the pattern {pattern}.")
