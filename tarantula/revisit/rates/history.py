"""What is kept of each page's visits: so little that a million pages fit into memory, and so much that nothing that
their rates depend on is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.last_modified import LastModifiedTrust
from tarantula.revisit.rates.observations import Flags, Observations, VisitPairs, visit_pairs

GAP_CLASSES_PER_DOUBLING = 4
"""Gaps are alike, for what is believed of many pages at once, if they differ by less than 2 to the power of 1/4."""
LEAST_GAP_CLASS = -1000
"""Gaps of less than a second have classes below zero."""


class PagesToRevisit(NamedTuple):
    """Those pages of a part that are to be kept fresh."""

    pages: Ints
    documents: Ints
    """The ids of their rows."""
    depths: Ints


@dataclass(frozen=True)
class VisitHistories:
    """What visits found of each page that is to be kept fresh."""

    documents: Ints
    depths: Ints
    servers: Ints
    types: Ints
    seen: Floats
    """When each was last seen, in seconds since 1970."""
    visits: Ints
    """How many visits found whether it had changed."""
    changes: Ints
    """How many of them found that it had."""
    shortest: Floats
    """Seconds between its two nearest visits, and its two farthest."""
    longest: Floats
    quiet: Floats
    """Seconds in which nothing changed, by what was seen."""
    before: Floats
    """Seconds before the first visit in which nothing changed, by Last-Modified; none where it said nothing."""
    changed: Ints
    """Which page each change is of; they are in the order of the pages."""
    gaps: Floats
    """Seconds between the two visits that each change was found by."""
    ages: Floats
    """Seconds from the change to the second one, by Last-Modified; not a number where it said nothing."""

    def __len__(self) -> int:
        return len(self.documents)


class ChangeCounts(NamedTuple):
    """How many visits after like gaps found a change or none, by server and type."""

    servers: Ints
    types: Ints
    gaps: Floats
    changed: Floats
    unchanged: Floats


class HistoryBuilder:
    """Takes what visits saw a part at a time, whole pages each; servers and types are numbered from zero on."""

    def __init__(self) -> None:
        self.honesty = LastModifiedTrust()
        self._parts: list[VisitHistories] = []
        self._tally: dict[int, list[float]] = {}
        self._pages = 0

    def add(self, sights: Observations, servers: Ints, types: Ints, wanted: PagesToRevisit) -> None:
        """Take note of some pages; *servers* and *types* are those of all of them."""
        pairs = visit_pairs(sights)
        self.honesty.hear(sights, pairs, servers)
        self._count(pairs, servers, types)
        part = _part(sights, pairs, servers, types, wanted, self._pages)
        self._pages += len(part)
        self._parts.append(part)

    def histories(self) -> VisitHistories:
        """Return all that was taken note of."""
        fields = VisitHistories.__dataclass_fields__
        parts = self._parts or [
            _part(_NO_SIGHTS, visit_pairs(_NO_SIGHTS), _NONE, _NONE, PagesToRevisit(_NONE, _NONE, _NONE), 0)
        ]
        return VisitHistories(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})

    def tally(self) -> ChangeCounts:
        """Return how often each kind of page changed, whether it is to be kept fresh or not."""
        keys = np.array(list(self._tally), dtype=np.int64)
        sums = np.array(list(self._tally.values()), dtype=np.float64).reshape(-1, 3)
        gaps = sums[:, 2] / (sums[:, 0] + sums[:, 1])
        return ChangeCounts(keys >> 40, keys >> 12 & (1 << 28) - 1, gaps, sums[:, 0], sums[:, 1])

    def _count(self, pairs: VisitPairs, servers: Ints, types: Ints) -> None:
        some = pairs.gaps > 0
        pages, gaps, changed = pairs.pages[some], pairs.gaps[some], pairs.changed[some]
        kinds = np.floor(np.log2(gaps) * GAP_CLASSES_PER_DOUBLING).astype(np.int64) - LEAST_GAP_CLASS
        keys, places = np.unique((servers[pages] << 40) | (types[pages] << 12) | kinds, return_inverse=True)
        for key, *numbers in zip(
            keys.tolist(),
            np.bincount(places, changed, len(keys)).tolist(),
            np.bincount(places, ~changed, len(keys)).tolist(),
            np.bincount(places, gaps, len(keys)).tolist(),
            strict=True,
        ):
            known = self._tally.setdefault(key, [0.0, 0.0, 0.0])
            for place, number in enumerate(numbers):
                known[place] += number


def _part(
    sights: Observations, pairs: VisitPairs, servers: Ints, types: Ints, wanted: PagesToRevisit, first_page: int
) -> VisitHistories:
    """Return the histories of the wanted pages of one part."""
    count = len(servers)
    last = np.full(count, -1, dtype=np.int64)
    last[sights.pages] = np.arange(len(sights))
    first = np.full(count, -1, dtype=np.int64)
    first[sights.pages[::-1]] = np.arange(len(sights))[::-1]
    is_seen = last[wanted.pages] >= 0
    pages, documents, depths = wanted.pages[is_seen], wanted.documents[is_seen], wanted.depths[is_seen]
    shortest, longest = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(shortest, pairs.pages, pairs.gaps)
    np.maximum.at(longest, pairs.pages, pairs.gaps)
    place = np.full(count, -1, dtype=np.int64)
    order = np.argsort(pages, kind="stable")
    pages, documents, depths = pages[order], documents[order], depths[order]
    place[pages] = np.arange(len(pages)) + first_page
    changes = pairs.changed & (pairs.gaps > 0) & (place[pairs.pages] >= 0)
    early = sights.times - sights.modified
    return VisitHistories(
        documents=documents,
        depths=depths,
        servers=servers[pages],
        types=types[pages],
        seen=sights.times[last[pages]],
        visits=np.bincount(pairs.pages, minlength=count)[pages].astype(np.int64),
        changes=_sum(pairs, pairs.changed, count)[pages].astype(np.int64),
        shortest=shortest[pages],
        longest=longest[pages],
        quiet=_sum(pairs, np.where(pairs.changed, 0.0, pairs.gaps), count)[pages],
        before=np.nan_to_num(np.maximum(early[first[pages]], 0.0)),
        changed=place[pairs.pages[changes]],
        gaps=pairs.gaps[changes],
        ages=_clipped(early[pairs.later[changes]], pairs.gaps[changes]),
    )


def _sum(pairs: VisitPairs, values: Floats | Flags, count: int) -> Floats:
    return np.bincount(pairs.pages, values, count).astype(np.float64)


def _clipped(ages: Floats, gaps: Floats) -> Floats:
    """Return ages that lie within their gaps, or are not numbers."""
    return np.minimum(np.maximum(ages, 0.0), gaps)


_NONE = np.empty(0, dtype=np.int64)
_NO_SIGHTS = Observations(_NONE, np.empty(0), _NONE, np.empty(0), np.empty(0, dtype=np.bool_))
