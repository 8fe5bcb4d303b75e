"""Visit histories of pages: compact enough for a million pages in memory, and sufficient for all estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.last_modified import LastModifiedTrust
from tarantula.revisit.rates.observations import Flags, Observations, VisitPairs, visit_pairs

GAP_CLASSES_PER_DOUBLING = 4
"""Classes per doubling of gaps; gaps of one class are counted together for priors."""
LEAST_GAP_CLASS = -1000
"""Offset of the class numbers, since gaps under a second have negative classes."""

_NONE = np.empty(0, dtype=np.int64)
_NO_OBSERVATIONS = Observations(_NONE, np.empty(0), _NONE, np.empty(0), np.empty(0, dtype=np.bool_))


class PagesToRevisit(NamedTuple):
    """Pages of a batch that are to be revisited."""

    pages: Ints
    documents: Ints
    """Ids of their rows."""
    depths: Ints


@dataclass(frozen=True)
class VisitHistories:
    """Visit histories of the pages to revisit."""

    documents: Ints
    depths: Ints
    servers: Ints
    types: Ints
    seen: Floats
    """Time of the last observation of each page, in seconds since 1970."""
    visits: Ints
    """Number of visits that could detect a change."""
    changes: Ints
    """Number of visits that found a change."""
    shortest: Floats
    """Shortest and longest gap between successive visits, in seconds."""
    longest: Floats
    quiet: Floats
    """Seconds without a change, as observed."""
    before: Floats
    """Seconds without a change before the first visit, by Last-Modified; 0 if unknown."""
    changed: Ints
    """Page of each change; ordered by page."""
    gaps: Floats
    """Seconds between the two visits around each change."""
    ages: Floats
    """Seconds from each change to the later visit, by Last-Modified; NaN if unknown."""

    def __len__(self) -> int:
        return len(self.documents)


class ChangeCounts(NamedTuple):
    """Numbers of visits with and without a change, by server, type and class of gaps."""

    servers: Ints
    types: Ints
    gaps: Floats
    changed: Floats
    unchanged: Floats


class HistoryBuilder:
    """Builds histories from observations, batch by batch; each batch has whole pages. Servers and types are numbers."""

    def __init__(self) -> None:
        self.last_modified = LastModifiedTrust()
        self._parts: list[VisitHistories] = []
        self._change_counts: dict[int, list[float]] = {}
        self._pages = 0

    def add(self, observations: Observations, servers: Ints, types: Ints, to_revisit: PagesToRevisit) -> None:
        """Add a batch of pages; *servers* and *types* are those of all its pages."""
        pairs = visit_pairs(observations)
        self.last_modified.add(observations, pairs, servers)
        self._count(pairs, servers, types)
        part = _part(observations, pairs, servers, types, to_revisit, self._pages)
        self._pages += len(part)
        self._parts.append(part)

    def histories(self) -> VisitHistories:
        """Return the histories of all batches."""
        fields = VisitHistories.__dataclass_fields__
        parts = self._parts or [
            _part(_NO_OBSERVATIONS, visit_pairs(_NO_OBSERVATIONS), _NONE, _NONE, PagesToRevisit(_NONE, _NONE, _NONE), 0)
        ]
        return VisitHistories(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})

    def change_counts(self) -> ChangeCounts:
        """Return the change counts of all pages, including those that are not revisited."""
        keys = np.array(list(self._change_counts), dtype=np.int64)
        sums = np.array(list(self._change_counts.values()), dtype=np.float64).reshape(-1, 3)
        gaps = sums[:, 2] / (sums[:, 0] + sums[:, 1])
        return ChangeCounts(keys >> 40, keys >> 12 & (1 << 28) - 1, gaps, sums[:, 0], sums[:, 1])

    def _count(self, pairs: VisitPairs, servers: Ints, types: Ints) -> None:
        some = pairs.gaps > 0
        pages, gaps, changed = pairs.pages[some], pairs.gaps[some], pairs.changed[some]
        gap_classes = np.floor(np.log2(gaps) * GAP_CLASSES_PER_DOUBLING).astype(np.int64) - LEAST_GAP_CLASS
        keys, places = np.unique((servers[pages] << 40) | (types[pages] << 12) | gap_classes, return_inverse=True)
        for key, *numbers in zip(
            keys.tolist(),
            np.bincount(places, changed, len(keys)).tolist(),
            np.bincount(places, ~changed, len(keys)).tolist(),
            np.bincount(places, gaps, len(keys)).tolist(),
            strict=True,
        ):
            known = self._change_counts.setdefault(key, [0.0, 0.0, 0.0])
            for place, number in enumerate(numbers):
                known[place] += number


def _part(
    observations: Observations,
    pairs: VisitPairs,
    servers: Ints,
    types: Ints,
    to_revisit: PagesToRevisit,
    first_page: int,
) -> VisitHistories:
    """Return the histories of the pages to revisit of one batch."""
    count = len(servers)
    last = np.full(count, -1, dtype=np.int64)
    last[observations.pages] = np.arange(len(observations))
    first = np.full(count, -1, dtype=np.int64)
    first[observations.pages[::-1]] = np.arange(len(observations))[::-1]
    is_seen = last[to_revisit.pages] >= 0
    pages, documents, depths = to_revisit.pages[is_seen], to_revisit.documents[is_seen], to_revisit.depths[is_seen]
    shortest, longest = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(shortest, pairs.pages, pairs.gaps)
    np.maximum.at(longest, pairs.pages, pairs.gaps)
    place = np.full(count, -1, dtype=np.int64)
    order = np.argsort(pages, kind="stable")
    pages, documents, depths = pages[order], documents[order], depths[order]
    place[pages] = np.arange(len(pages)) + first_page
    changes = pairs.changed & (pairs.gaps > 0) & (place[pairs.pages] >= 0)
    early = observations.times - observations.modified
    return VisitHistories(
        documents=documents,
        depths=depths,
        servers=servers[pages],
        types=types[pages],
        seen=observations.times[last[pages]],
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
    """Clip ages to their gaps; NaN stays NaN."""
    return np.minimum(np.maximum(ages, 0.0), gaps)
