"""Turn the links of a page into frontier rows: judge each by scope, and skip those seen before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tarantula.core.states import DocumentState
from tarantula.core.urls import MAX_SERVER_LENGTH, key_of, path_depth, server_of
from tarantula.items import FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.scope.limits import EXTRA_DEPTH
from tarantula.scope.rule import Candidate
from tarantula.scope.scope import Scope
from tarantula.store.documents import DiscoveredUrl

REMEMBERED_URLS = 50_000
"""URLs in each of two caches, newer and older, which spare the database the links that every page of a site has."""


class _Seen(NamedTuple):
    key: bytes
    depth: int
    past: int
    """Depth minus the extra steps that its kind may go past the publication's depth, as images may."""


class Discovery:
    """Turns links into rows. Its cache may forget URLs; the database drops duplicates."""

    def __init__(self, scope: Scope, keep_refused: bool) -> None:
        self._scope = scope
        self._keep_refused = keep_refused
        self._seen: dict[str, _Seen] = {}
        self._older: dict[str, _Seen] = {}
        self.refused: Counter[str] = Counter()
        """Number of new URLs refused by each rule."""

    def discover(self, entry: FrontierEntry, links: Iterable[Link]) -> tuple[list[DiscoveredUrl], dict[bytes, int]]:
        """Return the rows of links that are new or nearer than before, and the key and kind of every link."""
        found: list[DiscoveredUrl] = []
        named: dict[bytes, int] = {}
        for url, kind in links:
            depth = _depth(entry, kind)
            past = depth - EXTRA_DEPTH[kind]
            known = self._seen.get(url) or self._find_older(url)
            is_new = known is None or known.depth > depth or known.past > past
            known = known or _Seen(key_of(url), depth, past)
            named[known.key] = kind
            if is_new:
                self._remember(url, _Seen(known.key, min(known.depth, depth), min(known.past, past)))
                if (row := self._judge(entry, known.key, url, kind, depth)) is not None:
                    found.append(row)
        return found, named

    def judge_again(self, entry: FrontierEntry, links: Iterable[Link]) -> list[DiscoveredUrl]:
        """Return the rows of all links of *entry*, seen before or not."""
        rows = (self._judge(entry, key_of(url), url, kind, _depth(entry, kind)) for url, kind in links)
        return [row for row in rows if row is not None]

    def forget(self) -> None:
        """Clear the cache, because scope has changed."""
        self._seen.clear()
        self._older.clear()

    def _judge(self, entry: FrontierEntry, key: bytes, url: str, kind: LinkKind, depth: int) -> DiscoveredUrl | None:
        server = server_of(url)
        is_redirect = kind == LinkKind.REDIRECT
        redirects = entry.redirects + 1 if is_redirect else 0
        # A redirect keeps the kind of the document that it replaces.
        stored_kind = entry.kind if is_redirect else kind
        verdict = self._scope.judge(Candidate(url, server, depth, LinkKind(stored_kind), redirects, entry.url))
        if verdict.accepted:
            state, rule, reason = DocumentState.WAITING, None, None
        else:
            self.refused[verdict.rule] += 1
            if verdict.state is None or not self._keep_refused:
                return None
            state, rule, reason = verdict.state, verdict.rule, verdict.reason
        # A name that is too long for a server was refused; the column holds its beginning.
        server = server[:MAX_SERVER_LENGTH]
        return DiscoveredUrl(
            key, url, server, depth, stored_kind, redirects, path_depth(url), entry.id, state, rule, reason
        )

    def _find_older(self, url: str) -> _Seen | None:
        """Return a URL of the older cache, and move it to the newer one."""
        seen = self._older.get(url)
        if seen is not None:
            self._remember(url, seen)
        return seen

    def _remember(self, url: str, seen: _Seen) -> None:
        if len(self._seen) >= REMEMBERED_URLS:
            self._older, self._seen = self._seen, {}
        self._seen[url] = seen


def _depth(entry: FrontierEntry, kind: LinkKind) -> int:
    return entry.depth if kind == LinkKind.REDIRECT else entry.depth + 1
