"""Trust in the Last-Modified header of each server, checked against observed changes.

The header is compared with two facts: whether the body changed between two visits, and the time of the response. A
server is trusted if its Last-Modified has moved with the body often enough, and hardly ever otherwise; for any other
server a message gives the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from tarantula.revisit.model import Ints
from tarantula.revisit.rates.observations import FIRST_BODY, Observations, VisitPairs

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
