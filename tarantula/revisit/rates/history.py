"""Histories of visits: observations of change, and what Last-Modified headers add to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tarantula.revisit.model import Floats, Ints

CLOCK_TOLERANCE_SECONDS = 120.0
"""Largest difference of a server's clock from ours, in seconds. A Last-Modified so close to the request may be the time
of the response."""
PROOFS_NEEDED = 3
"""Correctly dated changes that a server needs."""
MOST_ERROR_SHARE = 0.05
"""Largest share of errors among checked headers."""

ERROR_KINDS = {
    "future": "lies in the future",
    "answered": "is the time of the response",
    "moved": "changes although the page does not",
    "stayed": "does not change although the page does",
}
GAP_CLASSES_PER_DOUBLING = 4
"""Classes per doubling of gaps; gaps of one class are counted together for priors."""
LEAST_GAP_CLASS = -1000
"""Offset of the class numbers, since gaps under a second have negative classes."""


@dataclass(frozen=True)
class LastModifiedRecord:
    """Statistics of the Last-Modified headers of one server."""

    answers: int
    """Responses with a Last-Modified."""
    future: int
    """Headers in the future."""
    answered: int
    """Headers with the time of the response."""
    checked: int
    """Pairs of visits for which the header could be checked."""
    moved: int
    """Headers that changed although the body did not."""
    stayed: int
    """Headers that did not change although the body did."""
    proofs: int
    """Changes dated between the two visits that found them."""

    @property
    def is_trusted(self) -> bool:
        """Whether the server is trusted."""
        return self.distrust_reason is None

    @property
    def distrust_reason(self) -> str | None:
        """Reason why the server is not trusted; None if it is."""
        if not self.answers:
            return "It sends no Last-Modified."
        shares = {
            kind: (number, of)
            for kind, number, of in (
                ("future", self.future, self.answers),
                ("answered", self.answered, self.answers),
                ("moved", self.moved, self.checked),
                ("stayed", self.stayed, self.checked),
            )
            if number > MOST_ERROR_SHARE * of
        }
        if shares:
            worst = max(shares, key=lambda kind: shares[kind][0] / shares[kind][1])
            return f"Its Last-Modified {ERROR_KINDS[worst]}: {shares[worst][0]:,} of {shares[worst][1]:,} times."
        if self.proofs < PROOFS_NEEDED:
            return f"It dated {self.proofs} changes correctly; {PROOFS_NEEDED} are needed."
        return None


class LastModifiedTrust:
    """Statistics of many servers, collected batch by batch; servers are numbered from 0."""

    FIELDS = ("answers", "future", "answered", "checked", "moved", "stayed", "proofs")

    def __init__(self) -> None:
        self._counts = np.zeros((len(self.FIELDS), 0), dtype=np.int64)

    def add(self, observations: Observations, pairs: VisitPairs, servers: Ints) -> Self:
        """Add a batch of observations; *servers* are those of the pages."""
        new = int(servers.max(initial=-1)) + 1 - self._counts.shape[1]
        self._counts = np.pad(self._counts, ((0, 0), (0, max(new, 0))))
        with np.errstate(invalid="ignore"):
            early = observations.times - observations.modified
            is_reported = (
                ~np.isnan(observations.modified) & (observations.contents >= FIRST_BODY) & ~observations.not_modified
            )
            ours = servers[observations.pages]
            self._count("answers", ours[is_reported])
            self._count("future", ours[is_reported & (early < -CLOCK_TOLERANCE_SECONDS)])
            self._count("answered", ours[is_reported & (np.abs(early) <= CLOCK_TOLERANCE_SECONDS)])
            before, after = pairs.later - 1, pairs.later
            both = (
                is_reported[after]
                & ~np.isnan(observations.modified[before])
                & (observations.contents[before] >= FIRST_BODY)
            )
            same = observations.modified[after] == observations.modified[before]
            # A change dated before the visit that did not yet see it has a wrong date.
            dated = ~same & (observations.modified[after] >= observations.times[before] - CLOCK_TOLERANCE_SECONDS)
            of_pairs = servers[pairs.pages]
            self._count("checked", of_pairs[both])
            self._count("moved", of_pairs[both & ~pairs.changed & ~same])
            self._count("stayed", of_pairs[both & pairs.changed & ~dated])
            is_proof = dated & (early[after] > CLOCK_TOLERANCE_SECONDS)
            self._count("proofs", of_pairs[both & pairs.changed & is_proof])
        return self

    def record(self, server: int) -> LastModifiedRecord:
        """Return the statistics of one server."""
        return LastModifiedRecord(*(int(number) for number in self._counts[:, server]))

    def trusted(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which servers are trusted."""
        return np.array([self.record(server).is_trusted for server in range(self._counts.shape[1])], dtype=np.bool_)

    def _count(self, field: str, servers: Ints) -> None:
        row = self._counts[self.FIELDS.index(field)]
        row += np.bincount(servers, minlength=len(row)).astype(np.int64)


Flags = NDArray[np.bool_]

NO_OBSERVATION = 0
"""Face of a visit that ended in an error, which says nothing about the page."""
REDIRECT = 1
GONE = 2
FIRST_BODY = 3
"""Faces from here on are body numbers, equal for equal bytes."""
TEMPORARY_STATES = (408, 425, 429)
"""Statuses that ask to try again and say nothing about the page; other client errors mean that it is gone."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = len("Sun, 06 Nov 1994 08:49:37 GMT")


@dataclass(frozen=True)
class Observations:
    """Successful observations, ordered by page and time, without duplicates."""

    pages: Ints
    times: Floats
    """Seconds since 1970."""
    contents: Ints
    modified: Floats
    """Last-Modified in seconds since 1970; NaN if missing."""
    not_modified: NDArray[np.bool_]
    """Whether the server sent no body because nothing had changed (304)."""

    @classmethod
    def of(cls, pages: Ints, times: Floats, contents: Ints, modified: Floats, not_modified: Flags) -> Self:
        """Sort and filter visits. A capture that was carried over counts at the time of its first observation only."""
        order = np.lexsort((times, pages))
        order = order[contents[order] != NO_OBSERVATION]
        again = np.zeros(len(order), dtype=np.bool_)
        again[1:] = (np.diff(pages[order]) == 0) & (np.diff(times[order]) == 0)
        order = order[~again]
        return cls(pages[order], times[order], contents[order], modified[order], not_modified[order])

    def __len__(self) -> int:
        return len(self.pages)


class VisitPairs(NamedTuple):
    """Pairs of successive visits to one page."""

    pages: Ints
    gaps: Floats
    changed: Flags
    later: Ints
    """Index of the later observation of each pair; the earlier one precedes it."""


def visit_pairs(observations: Observations) -> VisitPairs:
    """Return all pairs of successive observations."""
    later = np.flatnonzero(np.diff(observations.pages, prepend=-1) == 0)
    return VisitPairs(
        observations.pages[later],
        observations.times[later] - observations.times[later - 1],
        observations.contents[later] != observations.contents[later - 1],
        later,
    )


def observed_contents(states: Ints, bodies: Ints) -> Ints:
    """Return the face of each visit: its body number, or a code for a redirect or a page that is gone."""
    contents = np.where((states >= 200) & (states < 300), bodies, NO_OBSERVATION)
    contents = np.where((states >= 300) & (states < 400), REDIRECT, contents)
    return np.where((states >= 400) & (states < 500) & ~np.isin(states, TEMPORARY_STATES), GONE, contents)


def parse_http_dates(dates: Iterable[str | None]) -> Floats:
    """Parse HTTP dates in bulk; return seconds since 1970, NaN for invalid dates."""
    padded = (date if date and len(date) == _DATE and date.isascii() else " " * _DATE for date in dates)
    encoded = np.array(list(padded), dtype=f"S{_DATE}")
    letters = encoded.view(np.uint8).reshape(-1, _DATE).astype(np.int64)

    def number(start: int, end: int) -> Ints:
        digits = letters[:, start:end] - ord("0")
        value = digits @ (10 ** np.arange(end - start)[::-1])
        return np.where(np.all((digits >= 0) & (digits <= 9), axis=1), value, -1)

    names = encoded.astype(f"U{_DATE}").view("U1").reshape(-1, _DATE)[:, 8:11]
    month_names = np.ascontiguousarray(names).view("U3").ravel()
    month = np.full(len(encoded), -1, dtype=np.int64)
    for place, name in enumerate(_MONTHS):
        month[month_names == name] = place
    year, day = number(12, 16), number(5, 7)
    hour, minute, second = number(17, 19), number(20, 22), number(23, 25)
    first = (np.maximum(year, 0) - 1970) * 12 + np.maximum(month, 0)
    days = first.astype("M8[M]").astype("M8[D]").astype(np.int64) + day - 1
    is_date = (year >= 1) & (month >= 0) & (day >= 1) & (day <= 31) & (hour >= 0) & (minute >= 0) & (second >= 0)
    return np.where(is_date, days * 86_400.0 + hour * 3600.0 + minute * 60.0 + second, np.nan)


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
