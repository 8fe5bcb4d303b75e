"""Were enough documents of its server asked for?"""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.servers_part_server_settings import SettingsByServer


class ServerBudget:
    """Refuses documents past the number that was set for their server. A document counts when its turn comes."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._asked: dict[str, set[int]] = {}

    def adapt(self, settings: SettingsByServer) -> None:
        """Go by other settings from now on."""
        self._limits = {server: one.documents for server, one in settings.items() if one.documents is not None}

    def count(self, asked: Mapping[str, int]) -> None:
        """Take note of how many were asked for in all, by others too, or before the item was resumed."""
        for server, number in asked.items():
            self._before[server] = max(number - len(self._asked.get(server, ())), 0)

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        limit = self._limits.get(candidate.server)
        if limit is None:
            return None
        asked = self._asked.setdefault(candidate.server, set())
        if hash(candidate.url) in asked:
            return None
        if len(asked) + self._before.get(candidate.server, 0) >= limit:
            reason = f"{candidate.server} is collected up to {limit:,} documents, and they were asked for."
            return refuse(self, DocumentState.OVER_LIMIT, reason)
        if not candidate.via:
            asked.add(hash(candidate.url))
        return None
