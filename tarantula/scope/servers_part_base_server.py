"""Is it the server of the base document?"""

from __future__ import annotations

from tarantula.scope.patterns import split_server
from tarantula.scope.rule_part_verdict import Verdict, accept


class BaseServer:
    """Lets the base server in, whatever the patterns say."""

    def __init__(self, publication: str, server: str) -> None:
        self._server = split_server(server)
        self._verdict = accept(self, f"{server} is the base server of {publication}.")

    def judge(self, server: str) -> Verdict | None:
        """Let it in, or have no opinion."""
        return self._verdict if split_server(server) == self._server else None
