"""Which servers are believed when they say when a page was last changed.

A server is held to what can be checked: between two visits the body stayed or it did not, and the answer came at a
known time. One that shows often enough that its Last-Modified moves with the body, and hardly ever otherwise, is
believed; of any other, one sentence says why it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from tarantula.revisit.model import Ints
from tarantula.revisit.rates.observations import FIRST_BODY, Observations, VisitPairs

CLOCK_TOLERANCE_SECONDS = 120.0
"""Seconds by which the clock of a server may differ from ours: a page that was changed so shortly before it was asked
for may have been made for the answer."""
PROOFS_NEEDED = 3
"""How many changes a server has to date rightly."""
MOST_ERROR_SHARE = 0.05
"""Of what could be checked."""

ERROR_KINDS = {
    "future": "lies in the future",
    "answered": "is the time of the answer",
    "moved": "moves although the page stays the same",
    "stayed": "stays although the page changes",
}


@dataclass(frozen=True)
class LastModifiedRecord:
    """What one server said, and what became of it."""

    answers: int
    """With a Last-Modified."""
    future: int
    answered: int
    checked: int
    """Pairs of visits between which its word could be checked."""
    moved: int
    stayed: int
    proofs: int
    """Changes that it dated between the two visits that found them."""

    @property
    def is_believed(self) -> bool:
        """Whether it proved honest."""
        return self.why_not is None

    @property
    def why_not(self) -> str | None:
        """Say why it is not believed."""
        if not self.answers:
            return "It does not say when its pages were last changed."
        shares = {
            lie: (number, of)
            for lie, number, of in (
                ("future", self.future, self.answers),
                ("answered", self.answered, self.answers),
                ("moved", self.moved, self.checked),
                ("stayed", self.stayed, self.checked),
            )
            if number > MOST_ERROR_SHARE * of
        }
        if shares:
            worst = max(shares, key=lambda lie: shares[lie][0] / shares[lie][1])
            return f"Its Last-Modified {ERROR_KINDS[worst]}: {shares[worst][0]:,} of {shares[worst][1]:,} times."
        if self.proofs < PROOFS_NEEDED:
            return f"It dated {self.proofs} changes rightly, and {PROOFS_NEEDED} are asked for."
        return None


class LastModifiedTrust:
    """The witnesses of many servers, heard a part at a time; servers are numbered from zero on."""

    FIELDS = ("answers", "future", "answered", "checked", "moved", "stayed", "proofs")

    def __init__(self) -> None:
        self._counts = np.zeros((len(self.FIELDS), 0), dtype=np.int64)

    def hear(self, sights: Observations, pairs: VisitPairs, servers: Ints) -> Self:
        """Take note of what visits saw; *servers* are those of the pages."""
        new = int(servers.max(initial=-1)) + 1 - self._counts.shape[1]
        self._counts = np.pad(self._counts, ((0, 0), (0, max(new, 0))))
        with np.errstate(invalid="ignore"):
            early = sights.times - sights.modified
            told = ~np.isnan(sights.modified) & (sights.faces >= FIRST_BODY) & ~sights.unsent
            ours = servers[sights.pages]
            self._add("answers", ours[told])
            self._add("future", ours[told & (early < -CLOCK_TOLERANCE_SECONDS)])
            self._add("answered", ours[told & (np.abs(early) <= CLOCK_TOLERANCE_SECONDS)])
            before, after = pairs.later - 1, pairs.later
            both = told[after] & ~np.isnan(sights.modified[before]) & (sights.faces[before] >= FIRST_BODY)
            same = sights.modified[after] == sights.modified[before]
            # A change that is dated before the visit that did not see it yet was dated wrongly.
            dated = ~same & (sights.modified[after] >= sights.times[before] - CLOCK_TOLERANCE_SECONDS)
            of_pairs = servers[pairs.pages]
            self._add("checked", of_pairs[both])
            self._add("moved", of_pairs[both & ~pairs.changed & ~same])
            self._add("stayed", of_pairs[both & pairs.changed & ~dated])
            honest = dated & (early[after] > CLOCK_TOLERANCE_SECONDS)
            self._add("proofs", of_pairs[both & pairs.changed & honest])
        return self

    def witness(self, server: int) -> LastModifiedRecord:
        """Return what one server said."""
        return LastModifiedRecord(*(int(number) for number in self._counts[:, server]))

    def believed(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which servers are believed."""
        return np.array([self.witness(server).is_believed for server in range(self._counts.shape[1])], dtype=np.bool_)

    def _add(self, field: str, servers: Ints) -> None:
        row = self._counts[self.FIELDS.index(field)]
        row += np.bincount(servers, minlength=len(row)).astype(np.int64)
