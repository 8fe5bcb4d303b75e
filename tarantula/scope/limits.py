"""Rules with a limit: link depth, documents per server, size, redirects in a row."""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate, CandidateResponse, Verdict, refuse
from tarantula.scope.servers import SettingsByServer

EXTRA_DEPTH: dict[int, int] = {
    LinkKind.NAVIGATION: 0,
    # So that the last pages are whole: their images and styles, and what those styles ask for.
    LinkKind.REQUISITE: 1,
    LinkKind.IN_STYLE: 2,
    # It stands in the place, and at the depth, of a document that was let in, which may have been a requisite.
    LinkKind.REDIRECT: 2,
}


class TooDeep:
    """Refuses what lies past the publication's depth."""

    def __init__(self, publication: str, depth: int) -> None:
        self._publication = publication
        self._depth = depth
        self._deepest = tuple(depth + EXTRA_DEPTH[kind] for kind in sorted(LinkKind))

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if candidate.depth <= self._depth or candidate.depth <= self._deepest[candidate.kind]:
            return None
        links = "link" if candidate.depth == 1 else "links"
        past = EXTRA_DEPTH[candidate.kind]
        more = f", and {past} more for what a page needs to be whole" if past else ""
        return refuse(
            self,
            DocumentState.OVER_LIMIT,
            f"It lies {candidate.depth} {links} from the base document, "
            f"and {self._publication} goes {self._depth} deep{more}.",
        )


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
