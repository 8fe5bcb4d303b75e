"""Rules with a limit: link depth, documents per server, size, redirects in a row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate, CandidateResponse, Verdict, refuse
from tarantula.scope.servers import SettingsByServer

MAX_REDIRECTS = 20
"""Redirects in a row, as in browsers (Fetch, HTTP-redirect fetch)."""

REMEMBERED_DEPTHS = 256
"""Refusals of depths that are cached."""
EXTRA_DEPTH: dict[int, int] = {
    LinkKind.NAVIGATION: 0,
    # So that the last pages are complete: their images and styles, and what those styles load.
    LinkKind.REQUISITE: 1,
    LinkKind.IN_STYLE: 2,
    # The target replaces an accepted document of the same depth, which may have been a requisite.
    LinkKind.REDIRECT: 2,
}
"""Steps by which each kind of link may exceed the maximum depth."""


class TooDeep:
    """Refuse documents beyond the publication's depth."""

    def __init__(self, publication: str, depth: int) -> None:
        self._publication = publication
        self._depth = depth
        self._max_depth_by_kind = tuple(depth + EXTRA_DEPTH[kind] for kind in sorted(LinkKind))
        # One verdict per depth, so that the JSON of its reason is made once, not for every link.
        self._cached_refusal = lru_cache(REMEMBERED_DEPTHS)(self._refuse)

    def judge(self, candidate: Candidate) -> Verdict | None:
        if candidate.depth <= self._depth or candidate.depth <= self._max_depth_by_kind[candidate.kind]:
            return None
        return self._cached_refusal(candidate.depth, EXTRA_DEPTH[candidate.kind])

    def _refuse(self, depth: int, extra: int) -> Verdict:
        values = {"depth": depth, "publication": self._publication, "limit": self._depth}
        reason = Reason.of("too_deep_requisite", **values, extra=extra) if extra else Reason.of("too_deep", **values)
        return refuse(self, DocumentState.OVER_LIMIT, reason)


class ServerTooDeep:
    """Refuse documents beyond the depth set for their server."""

    def __init__(self) -> None:
        self._depths: dict[str, int] = {}

    def adapt(self, settings: SettingsByServer) -> None:
        """Use other settings from now on."""
        self._depths = {server: one.depth for server, one in settings.items() if one.depth is not None}

    def judge(self, candidate: Candidate) -> Verdict | None:
        depth = self._depths.get(candidate.server)
        if depth is None or candidate.depth <= depth + EXTRA_DEPTH[candidate.kind]:
            return None
        reason = Reason.of("too_deep_on_server", depth=candidate.depth, server=candidate.server, limit=depth)
        return refuse(self, DocumentState.OVER_LIMIT, reason)


class ServerBudget:
    """Refuse documents over the number set for their server. A document counts when it is about to be requested."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}
        self._elsewhere: dict[str, int] = {}
        self._requested: dict[str, set[int]] = {}

    def adapt(self, settings: SettingsByServer) -> None:
        """Use other settings from now on."""
        self._limits = {server: one.documents for server, one in settings.items() if one.documents is not None}

    def count(self, totals: Mapping[str, int]) -> None:
        """Set how many documents of each server were requested in all, including other collectors and earlier runs."""
        for server, total in totals.items():
            self._elsewhere[server] = max(total - len(self._requested.get(server, ())), 0)

    def judge(self, candidate: Candidate) -> Verdict | None:
        limit = self._limits.get(candidate.server)
        if limit is None:
            return None
        requested = self._requested.setdefault(candidate.server, set())
        if hash(candidate.url) in requested:
            return None
        if len(requested) + self._elsewhere.get(candidate.server, 0) >= limit:
            reason = Reason.of("server_budget", server=candidate.server, limit=limit)
            return refuse(self, DocumentState.OVER_LIMIT, reason)
        if not candidate.via:
            requested.add(hash(candidate.url))
        return None


class TooManyRedirects:
    """Refuse targets of more redirects in a row than a browser would follow."""

    def __init__(self, limit: int = MAX_REDIRECTS) -> None:
        self._limit = limit

    def judge(self, candidate: Candidate) -> Verdict | None:
        if candidate.redirects <= self._limit:
            return None
        reason = Reason.of("too_many_redirects", redirects=candidate.redirects, limit=self._limit)
        return refuse(self, DocumentState.OVER_LIMIT, reason)


class TooLarge:
    """Refuse documents over the maximum size."""

    def __init__(self, publication: str, max_size: int) -> None:
        self._publication = publication
        self._max_size = max_size

    def judge(self, response: CandidateResponse) -> Verdict | None:
        if response.length is None or response.length <= self._max_size:
            return None
        reason = Reason.of("too_large", size=response.length, publication=self._publication, limit=self._max_size)
        return refuse(self, DocumentState.TOO_LARGE, reason)
