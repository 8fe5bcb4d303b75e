"""By how much estimators miss, for pages that are visited at even gaps: counted exactly, over all that may be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import comb, exp, inf, isfinite, log, sqrt
from typing import Any

from tarantula.revisit.rates.estimators import ObservedVisit, RatePrior, cho_rate, rate_of_visits

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
