"""Estimators of the change rate of a page from its visits, and their exact bias.

The bias is computed for visits at even gaps, over all possible outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import comb, exp, expm1, inf, isfinite, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats, Ints

NEWTON_STEPS = 60
"""Of Newton's way to the root; it takes about six."""
RATE_TOLERANCE = 1e-12
MOST_INFORMATIVE_CHANGES = 500.0
"""Changes in a gap; with so many expected, finding one says nothing."""


class ObservedVisit(NamedTuple):
    """What one visit found."""

    gap: float
    """Seconds since the visit before."""
    changed: bool
    age: float | None = None
    """Seconds since the last change, if the server tells it and is believed."""


class RatePrior(NamedTuple):
    """What is believed of a page before it is visited again: as if so many changes had been seen in so long a time."""

    changes: float
    seconds: float

    @property
    def rate(self) -> float:
        """Changes a second."""
        return self.changes / self.seconds


def cho_rate(visits: int, unchanged: int, gap: float) -> float:
    """Return the rate of a page that was visited at even gaps: Cho's estimator, hardly biased and never infinite."""
    return -log((unchanged + 0.5) / (visits + 0.5)) / gap


def rate_of_visits(visits: Sequence[ObservedVisit], prior: RatePrior) -> float:
    """Return the most likely rate after some visits.

    A visit that found no change says that none came in its gap. One that found some says that at least one did; one
    that also tells when the last came says that none came since. What was believed before counts as a few visits.
    """
    quiet = prior.seconds + sum(_quiet(visit) for visit in visits)
    known = prior.changes + sum(visit.changed and visit.age is not None for visit in visits)
    gaps = [visit.gap for visit in visits if visit.changed and visit.age is None and visit.gap > 0]
    return float(most_likely_rate(known, quiet, np.array(gaps, dtype=np.float64)))


def most_likely_rates(known: Floats, quiet: Floats, starts: Ints, gaps: Floats) -> Floats:
    """Return the most likely rates of many pages.

    *known* are changes whose times are known, *quiet* seconds in which there was none, and *gaps*, those of a page from
    its *start* to that of the next, are times in which there was at least one.
    """
    rates = np.empty(len(known))
    _of_pages(known, quiet, starts, gaps, rates)
    return rates


def _quiet(visit: ObservedVisit) -> float:
    """Return for how long it is known that nothing changed."""
    if not visit.changed:
        return visit.gap
    return min(visit.age, visit.gap) if visit.age is not None else 0.0


@njit(cache=True)
def most_likely_rate(known, quiet, gaps):  # type: ignore[no-untyped-def]
    """Return the root of known/λ + Σ t/(e^(λt) − 1) = quiet.

    With λ on both sides the left one is convex and falls, and u/(e^u − 1) is never below 1 − u/2: from the rate at
    which these would be the same Newton's way leads to the root from below, and never past it.
    """
    if known + len(gaps) <= 0.0:
        return 0.0
    if quiet <= 0.0:
        return inf
    rate = (known + len(gaps)) / (quiet + gaps.sum() / 2.0)
    for _ in range(NEWTON_STEPS):
        height, slope = known - rate * quiet, -quiet
        for gap in gaps:
            u = rate * gap
            if u < 1e-4:
                height += 1.0 - u / 2.0 + u * u / 12.0
                slope += gap * (u / 6.0 - 0.5)
            elif u < MOST_INFORMATIVE_CHANGES:
                high = expm1(u)
                height += u / high
                slope += gap * (high - u * (high + 1.0)) / (high * high)
        step = -height / slope
        rate += step
        if abs(step) <= RATE_TOLERANCE * rate:
            break
    return rate


@njit(cache=True)
def _of_pages(known, quiet, starts, gaps, rates):  # type: ignore[no-untyped-def]
    for page in range(len(known)):
        rates[page] = most_likely_rate(known[page], quiet[page], gaps[starts[page] : starts[page + 1]])


VISITS_PER_PAGE = 10
CHANGES_PER_GAP = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Expected in a gap."""
WRONG_PRIOR_FACTOR = 3.0
"""How many times too high a prior is that is wrong; either counts as one change."""


@dataclass(frozen=True, slots=True)
class EstimatorError:
    """What an estimator does at one rate."""

    bias: float
    """How far its mean is from the rate, as a share of it."""
    error: float
    """The root of the mean square of what it misses, as a share of the rate."""
    infinite: float
    """How often it knows no bound; the other two are counted without these."""


@dataclass(frozen=True, slots=True)
class EstimatorErrors:
    """What the estimators do at one rate."""

    changes: float
    cho: EstimatorError
    most_likely: EstimatorError
    with_prior: EstimatorError
    """With what other pages do, and this one does as they."""
    with_wrong_prior: EstimatorError
    """The same if this one changes three times less often than they."""

    @property
    def all(self) -> tuple[EstimatorError, ...]:
        """The estimators, in this order."""
        return self.cho, self.most_likely, self.with_prior, self.with_wrong_prior

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return asdict(self)


def estimator_errors(
    changes: Sequence[float] = CHANGES_PER_GAP, visits: int = VISITS_PER_PAGE
) -> list[EstimatorErrors]:
    """Return what the estimators do after so many visits at even gaps, with so many changes expected in each."""
    return [_misses(rate, visits) for rate in changes]


def _misses(rate: float, visits: int) -> EstimatorErrors:
    right, wrong = RatePrior(1.0, 1.0 / rate), RatePrior(1.0, 1.0 / (WRONG_PRIOR_FACTOR * rate))
    return EstimatorErrors(
        rate,
        _miss(rate, visits, lambda unchanged: cho_rate(visits, unchanged, 1.0)),
        _miss(rate, visits, lambda unchanged: -log(unchanged / visits) if unchanged else inf),
        _miss(rate, visits, lambda unchanged: rate_of_visits(_found(visits, unchanged), right)),
        _miss(rate, visits, lambda unchanged: rate_of_visits(_found(visits, unchanged), wrong)),
    )


def _miss(rate: float, visits: int, estimate: Callable[[int], float]) -> EstimatorError:
    quiet = exp(-rate)
    chances = {
        estimate(unchanged): comb(visits, unchanged) * quiet**unchanged * (1 - quiet) ** (visits - unchanged)
        for unchanged in range(visits + 1)
    }
    bounded = {guess: chance for guess, chance in chances.items() if isfinite(guess)}
    all_bounded = sum(bounded.values())
    mean = sum(guess * chance for guess, chance in bounded.items()) / all_bounded
    square = sum((guess - rate) ** 2 * chance for guess, chance in bounded.items()) / all_bounded
    return EstimatorError(mean / rate - 1, sqrt(square) / rate, 1 - all_bounded)


def _found(visits: int, unchanged: int) -> list[ObservedVisit]:
    return [ObservedVisit(1.0, number >= unchanged) for number in range(visits)]
