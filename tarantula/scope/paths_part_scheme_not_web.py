"""Is it something that a collector cannot ask for: mail, scripts, data, files?"""

from __future__ import annotations

from tarantula.core.urls import is_web
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse


class SchemeNotWeb:
    """Refuses what is neither http nor https. That is no document, so it has no state."""

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if is_web(candidate.url):
            return None
        scheme = candidate.url.partition(":")[0][:40]
        return refuse(self, None, f"A collector asks for http and https only, and this is {scheme}.")
