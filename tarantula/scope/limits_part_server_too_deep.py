"""Does it lie deeper than its server is wanted?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.scope.limits_part_too_deep import EXTRA_DEPTH
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.servers_part_server_settings import SettingsByServer


class ServerTooDeep:
    """Refuses what lies past the depth that was set for its server."""

    def __init__(self) -> None:
        self._depths: dict[str, int] = {}

    def adapt(self, settings: SettingsByServer) -> None:
        """Go by other settings from now on."""
        self._depths = {server: one.depth for server, one in settings.items() if one.depth is not None}

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        depth = self._depths.get(candidate.server)
        if depth is None or candidate.depth <= depth + EXTRA_DEPTH[candidate.kind]:
            return None
        reason = (
            f"It lies {candidate.depth} links from the base document, and {candidate.server} is collected {depth} deep."
        )
        return refuse(self, DocumentState.OVER_LIMIT, reason)
