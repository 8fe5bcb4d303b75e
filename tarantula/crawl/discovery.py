"""From the links of a page to rows of the table: what scope says of each, and what was seen before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of, path_depth, server_of
from tarantula.items import FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.scope.limits import EXTRA_DEPTH
from tarantula.scope.paths import MAX_SERVER_LENGTH
from tarantula.scope.rule import Candidate
from tarantula.scope.scope import Scope
from tarantula.store.documents import DiscoveredUrl

REMEMBERED_URLS = 50_000
"""How many URLs are remembered, to spare the database those that every page of a site names; and as many older ones."""


class _Seen(NamedTuple):
    key: bytes
    depth: int
    past: int
    """The depth less the steps that its kind may lie past the publication's: images go where pages do not."""


class Discovery:
    """Turns links into rows. It may forget what it saw: the database has the last word."""

    def __init__(self, scope: Scope, keep_refused: bool) -> None:
        self._scope = scope
        self._keep_refused = keep_refused
        self._seen: dict[str, _Seen] = {}
        self._seen_before: dict[str, _Seen] = {}
        self.refused: Counter[str] = Counter()
        """How often each rule refused a URL that was not seen before."""

    def discover(self, entry: FrontierEntry, links: Iterable[Link]) -> tuple[list[DiscoveredUrl], dict[bytes, int]]:
        """Return the rows of what *entry* names for the first time, and the keys and kinds of all that it names."""
        found: list[DiscoveredUrl] = []
        named: dict[bytes, int] = {}
        for url, kind in links:
            depth = _depth(entry, kind)
            past = depth - EXTRA_DEPTH[kind]
            known = self._seen.get(url) or self._recall(url)
            is_news = known is None or known.depth > depth or known.past > past
            known = known or _Seen(key_of(url), depth, past)
            named[known.key] = kind
            if is_news:
                self._remember(url, _Seen(known.key, min(known.depth, depth), min(known.past, past)))
                if (row := self._judge(entry, known.key, url, kind, depth)) is not None:
                    found.append(row)
        return found, named

    def judge_again(self, entry: FrontierEntry, links: Iterable[Link]) -> list[DiscoveredUrl]:
        """Return the rows of all that *entry* names, seen before or not."""
        rows = (self._judge(entry, key_of(url), url, kind, _depth(entry, kind)) for url, kind in links)
        return [row for row in rows if row is not None]

    def forget(self) -> None:
        """Judge every URL anew: other servers are accepted now."""
        self._seen.clear()
        self._seen_before.clear()

    def _judge(self, entry: FrontierEntry, key: bytes, url: str, kind: LinkKind, depth: int) -> DiscoveredUrl | None:
        server = server_of(url)
        is_redirect = kind == LinkKind.REDIRECT
        redirects = entry.redirects + 1 if is_redirect else 0
        # What stands in the place of an image is an image still.
        stored_kind = entry.kind if is_redirect else kind
        verdict = self._scope.judge(Candidate(url, server, depth, LinkKind(stored_kind), redirects, entry.url))
        if verdict.accepted:
            state, rule, reason = DocumentState.WAITING, None, None
        else:
            self.refused[verdict.rule] += 1
            if verdict.state is None or not self._keep_refused:
                return None
            state, rule, reason = verdict.state, verdict.rule, verdict.reason
        # What has a longer name than a server can have was refused: the table keeps its beginning.
        server = server[:MAX_SERVER_LENGTH]
        return DiscoveredUrl(
            key, url, server, depth, stored_kind, redirects, path_depth(url), entry.id, state, rule, reason
        )

    def _recall(self, url: str) -> _Seen | None:
        """Remember anew what was seen before and is named again."""
        seen = self._seen_before.get(url)
        if seen is not None:
            self._remember(url, seen)
        return seen

    def _remember(self, url: str, seen: _Seen) -> None:
        if len(self._seen) >= REMEMBERED_URLS:
            self._seen_before, self._seen = self._seen, {}
        self._seen[url] = seen


def _depth(entry: FrontierEntry, kind: LinkKind) -> int:
    return entry.depth if kind == LinkKind.REDIRECT else entry.depth + 1
