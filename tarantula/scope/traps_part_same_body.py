"""Is it named by a page that its server gives under address after address?"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

MAX_COPIES = 100
"""Addresses of one server with one body whose links are followed."""
REMEMBERED_BODIES = 50_000
"""Bodies, and as many addresses; those not met for longest are forgotten first."""


class SameBody:
    """Refuses the links that a reader would follow from a page whose body was met too often.

    They are new only because they are relative: the same words lead elsewhere from every address. What the page needs
    to be whole is let in, for a hundred albums may well have the same frames.
    """

    def __init__(self, most: int = MAX_COPIES, size: int = REMEMBERED_BODIES) -> None:
        self._most = most
        self._size = size
        self._copies: OrderedDict[tuple[str, int, int], int] = OrderedDict()
        self._barren: OrderedDict[int, None] = OrderedDict()
        self._met: OrderedDict[int, None] = OrderedDict()

    def learn(self, server: str, url: str, body: bytes) -> None:
        """Take note of a page."""
        key = (server, len(body), hash(body))
        # A page that is visited again is no other address.
        if (known := hash((url, key))) in self._met:
            return
        self._met[known] = None
        _shorten(self._met, self._size)
        copies = self._copies[key] = self._copies.get(key, 0) + 1
        self._copies.move_to_end(key)
        _shorten(self._copies, self._size)
        if copies > self._most:
            self._barren[hash(url)] = None
            _shorten(self._barren, self._size)

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if not self._barren or candidate.kind != LinkKind.NAVIGATION or hash(candidate.via) not in self._barren:
            return None
        reason = f"More than {self._most} addresses of its server have the body of the page that names it."
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _shorten(memory: OrderedDict[Any, Any], size: int) -> None:
    if len(memory) > size:
        memory.popitem(last=False)
