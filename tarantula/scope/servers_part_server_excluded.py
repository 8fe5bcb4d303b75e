"""Is it a server that the publication leaves out?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.scope.patterns import ServerPatterns
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.servers_part_server_settings import SettingsByServer


class ServerExcluded:
    """Refuses the servers that an excluding pattern takes, or their own settings exclude, accepted or not."""

    def __init__(self, publication: str, patterns: ServerPatterns, settings: SettingsByServer) -> None:
        self._publication = publication
        self._patterns = patterns
        self._settings = settings

    def judge(self, server: str) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if server in self._settings and self._settings[server].excluded:
            reason = f"The server {server} is excluded by the settings that it has of its own."
            return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)
        pattern = self._patterns.match(server)
        if pattern is None:
            return None
        reason = f"The server {server} is excluded from {self._publication} by the pattern {pattern}."
        return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)
