"""How often pages change, from what visits found."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, log
from typing import NamedTuple

STEPS = 200
EXACT = 1e-10


class Visit(NamedTuple):
    """What one visit found."""

    gap: float
    """Seconds since the visit before."""
    changed: bool
    age: float | None = None
    """Seconds since the last change, if the server tells it and is believed."""


class Prior(NamedTuple):
    """What is believed of a page before it is visited again: as if so many changes had been seen in so long a time."""

    changes: float
    seconds: float

    @property
    def rate(self) -> float:
        """Changes a second."""
        return self.changes / self.seconds


def of_regular_visits(visits: int, unchanged: int, gap: float) -> float:
    """Return the rate of a page that was visited at even gaps: Cho's estimator, hardly biased and never infinite."""
    return -log((unchanged + 0.5) / (visits + 0.5)) / gap


def of_visits(visits: Sequence[Visit], prior: Prior) -> float:
    """Return the most likely rate after some visits.

    A visit that found no change says that none came in its gap. One that found some says that at least one did; one
    that also tells when the last came says that none came since. What was believed before counts as a few visits.
    """
    quiet = prior.seconds + sum(_quiet(visit) for visit in visits)
    known = prior.changes + sum(visit.changed and visit.age is not None for visit in visits)
    gaps = [visit.gap for visit in visits if visit.changed and visit.age is None and visit.gap > 0]
    if not gaps:
        return known / quiet
    low, high = known / quiet, (known + len(gaps)) / quiet
    # known/λ + Σ t/(e^(λt) − 1) = quiet has one root, between counting no change for each of them and one over λ.
    high = max(high, low + sum(1.0 / gap for gap in gaps) + EXACT)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _pull(middle, known, gaps) > quiet else (low, middle)
        if high - low <= EXACT * high:
            break
    return high


def _quiet(visit: Visit) -> float:
    """Return for how long it is known that nothing changed."""
    if not visit.changed:
        return visit.gap
    return min(visit.age, visit.gap) if visit.age is not None else 0.0


def _pull(rate: float, known: float, gaps: Sequence[float]) -> float:
    pulled = known / rate if known else 0.0
    for gap in gaps:
        u = rate * gap
        pulled += gap / expm1(u) if u < 700.0 else 0.0
    return pulled
