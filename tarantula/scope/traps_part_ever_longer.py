"""Is it the URL of the page that names it, made longer once more?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.traps_part_steps import StepCounter

MAX_GROWTH = 10
"""Steps in a row. ?p=1, ?p=10, ?p=100 are two; whoever chooses ten filters of a shop one by one has gone ten."""


class EverLonger:
    """Refuses URLs that grow out of one another, step by step, within the last segment or the query."""

    def __init__(self, most: int = MAX_GROWTH) -> None:
        self._most = most
        self._steps = StepCounter()

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        url, via = candidate.url, candidate.via
        if len(url) <= len(via) or not via or not _grown(via, url):
            return None
        steps = self._steps.take(via, url)
        if steps <= self._most:
            return None
        reason = f"{steps} URLs in a row only make the one before longer, and {self._most} is the limit."
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _grown(via: str, url: str) -> bool:
    """Whether *url* is *via* with something put in, other than a segment of the path."""
    name = via.find("?") + 1 or via.rfind("/") + 1
    if name == len(via) or url[:name] != via[:name]:
        return False
    while name < len(via) and url[name] == via[name]:
        name += 1
    return url.endswith(via[name:]) and ("?" in via or "/" not in url[name : len(url) - len(via) + name])
