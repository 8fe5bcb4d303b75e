"""Estimators of change rates, and the gamma distribution of their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import comb, exp, expm1, inf, isfinite, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import digamma, polygamma

from tarantula.revisit.model import Floats, Ints

NEWTON_STEPS = 60
"""Most steps of Newton's method; about six are needed."""
RATE_TOLERANCE = 1e-12
MOST_INFORMATIVE_CHANGES = 500.0
"""Expected changes in a gap above which finding a change carries no information."""

VISITS_PER_PAGE = 10
CHANGES_PER_GAP = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Expected changes in a gap."""
WRONG_PRIOR_FACTOR = 3.0
"""Factor by which the wrong prior is too high; either prior counts as one change."""
SMALL_POWER = 1e-9

INTEGRATION_NODES = 64
"""Nodes of the numerical integration."""
SHAPE_NEWTON_STEPS = 5
"""Steps of Newton's method for a shape."""
NEGLIGIBLE_LOG_DENSITY = 12.0
"""Difference of log density from which on a rate is negligible."""
LEAST_PRODUCT = 1e-200
CERTAIN_CHANGES = 40.0
"""Expected changes in a gap above which a change is certain."""


class ObservedVisit(NamedTuple):
    """Result of one visit."""

    gap: float
    """Seconds since the previous visit."""
    changed: bool
    age: float | None = None
    """Seconds since the last change, if a trusted server reports it."""


class RatePrior(NamedTuple):
    """Prior of a rate, equivalent to *changes* observed in *seconds*."""

    changes: float
    seconds: float

    @property
    def rate(self) -> float:
        """Changes a second."""
        return self.changes / self.seconds


def cho_rate(visits: int, unchanged: int, gap: float) -> float:
    """Return Cho's estimate of the rate after visits at even gaps: nearly unbiased and never infinite."""
    return -log((unchanged + 0.5) / (visits + 0.5)) / gap


def rate_of_visits(visits: Sequence[ObservedVisit], prior: RatePrior) -> float:
    """Return the most likely rate after some visits.

    A visit without a change means that there was none in its gap. A visit with a change means at least one; if the time
    of the last change is known, there was none after it. The prior counts as a few visits.
    """
    quiet = prior.seconds + sum(_quiet(visit) for visit in visits)
    known = prior.changes + sum(visit.changed and visit.age is not None for visit in visits)
    gaps = [visit.gap for visit in visits if visit.changed and visit.age is None and visit.gap > 0]
    return float(most_likely_rate(known, quiet, np.array(gaps, dtype=np.float64)))


def most_likely_rates(known: Floats, quiet: Floats, starts: Ints, gaps: Floats) -> Floats:
    """Return the most likely rates of many pages.

    *known* counts changes with known times, *quiet* the seconds known to be without a change; *gaps* have at least one
    change each, and those of a page are between its start in *starts* and the next.
    """
    rates = np.empty(len(known))
    _of_pages(known, quiet, starts, gaps, rates)
    return rates


def _quiet(visit: ObservedVisit) -> float:
    """Return the seconds of a visit's gap that are known to be without a change."""
    if not visit.changed:
        return visit.gap
    return min(visit.age, visit.gap) if visit.age is not None else 0.0


@njit(cache=True)
def most_likely_rate(known, quiet, gaps):  # type: ignore[no-untyped-def]
    """Return the root λ of known/λ + Σ t/(e^(λt) − 1) = quiet.

    Multiplied by λ, the left side is convex and decreasing, and u/(e^u − 1) is at least 1 − u/2: from the rate at which
    these are equal, Newton's method converges to the root from below.
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


@dataclass(frozen=True, slots=True)
class EstimatorError:
    """Error of an estimator at one rate."""

    bias: float
    """Relative difference of its mean from the rate."""
    error: float
    """Root of its mean squared error, relative to the rate."""
    infinite: float
    """Probability of an infinite estimate; the other two figures exclude it."""


@dataclass(frozen=True, slots=True)
class EstimatorErrors:
    """Errors of all estimators at one rate."""

    changes: float
    cho: EstimatorError
    most_likely: EstimatorError
    with_prior: EstimatorError
    """With a prior from other pages with the same rate."""
    with_wrong_prior: EstimatorError
    """With a prior from other pages that change three times as often."""

    @property
    def all(self) -> tuple[EstimatorError, ...]:
        """Errors in the order of the estimators."""
        return self.cho, self.most_likely, self.with_prior, self.with_wrong_prior

    def as_dict(self) -> dict[str, Any]:
        """Return the errors for JSON; the keys are part of the interface."""
        return asdict(self)


def estimator_errors(
    changes: Sequence[float] = CHANGES_PER_GAP, visits: int = VISITS_PER_PAGE
) -> list[EstimatorErrors]:
    """Return the errors after *visits* visits at even gaps, for each expected number of changes in a gap."""
    return [_errors(rate, visits) for rate in changes]


def _errors(rate: float, visits: int) -> EstimatorErrors:
    right, wrong = RatePrior(1.0, 1.0 / rate), RatePrior(1.0, 1.0 / (WRONG_PRIOR_FACTOR * rate))
    return EstimatorErrors(
        rate,
        _error(rate, visits, lambda unchanged: cho_rate(visits, unchanged, 1.0)),
        _error(rate, visits, lambda unchanged: -log(unchanged / visits) if unchanged else inf),
        _error(rate, visits, lambda unchanged: rate_of_visits(_visits_with(visits, unchanged), right)),
        _error(rate, visits, lambda unchanged: rate_of_visits(_visits_with(visits, unchanged), wrong)),
    )


def _error(rate: float, visits: int, estimate: Callable[[int], float]) -> EstimatorError:
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


def _visits_with(visits: int, unchanged: int) -> list[ObservedVisit]:
    return [ObservedVisit(1.0, number >= unchanged) for number in range(visits)]


@njit(cache=True)
def unchanged_probability(seconds: float, shape: float, scale: float) -> float:
    """Return the probability of no change in *seconds*."""
    if seconds <= 0.0 or shape <= 0.0:
        return 1.0
    return exp(-shape * log1p(seconds / scale)) if scale > 0.0 else 0.0


@njit(cache=True)
def gamma_fresh_seconds(seconds: float, shape: float, scale: float) -> float:
    """Return the expected fresh seconds within *seconds* after a visit."""
    if seconds <= 0.0 or shape <= 0.0:
        return max(seconds, 0.0)
    if scale <= 0.0:
        return 0.0
    length = log1p(seconds / scale)
    power = (shape - 1.0) * length
    # At a shape of 1 the integral is a logarithm.
    return scale * length * (-expm1(-power) / power if abs(power) > SMALL_POWER else 1.0)


@njit(cache=True)
def gamma_fresh_seconds_after(age: float, seconds: float, shape: float, scale: float) -> float:
    """Return the expected fresh seconds within *seconds* that begin *age* seconds after the last visit."""
    return unchanged_probability(age, shape, scale) * gamma_fresh_seconds(seconds, shape, scale + age)


@njit(cache=True)
def gamma_visit_index(seconds: float, shape: float, scale: float) -> float:
    """Return the worth of a visit in fresh seconds, if all visits have gaps of *seconds*.

    With a visit every g seconds at a fixed price, the optimal g is the one at which the price equals the fresh seconds
    of a gap less g times the probability of no change. For a known rate this is (1 − (1 + u)e^(−u))/λ with u = λg.
    """
    return gamma_fresh_seconds(seconds, shape, scale) - seconds * unchanged_probability(seconds, shape, scale)


def change_probabilities(seconds: Floats, shapes: Floats, scales: Floats) -> Floats:
    """Return the probabilities of at least one change of each page in *seconds*."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changed = -np.expm1(-shapes * np.log1p(seconds / scales))
    changed = np.where(scales > 0.0, changed, 1.0)
    return np.where((seconds > 0.0) & (shapes > 0.0), changed, 0.0)


def nearest_gamma(known: Floats, quiet: Floats, starts: Ints, gaps: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Return shape and scale of the Gamma distribution nearest to the posterior of each page.

    There were *known* changes in *quiet* seconds, and at least one in each of the *gaps* of a page, which begin at its
    start in *starts*. The most likely *rates* locate the posteriors.
    """
    shapes, scales = known.copy(), quiet.copy()
    some = np.flatnonzero((np.diff(starts) > 0) & (known > 0) & (quiet > 0))
    means, logs = np.empty(len(some)), np.empty(len(some))
    _moments(some, known, quiet, starts, gaps, rates, means, logs)
    shapes[some] = _shapes(np.log(means) - logs)
    scales[some] = shapes[some] / means
    return shapes, scales


def _shapes(differences: Floats) -> Floats:
    """Return the shapes for which ln(shape) − ψ(shape) equals the logarithm of the mean less the mean logarithm."""
    differences = np.maximum(differences, 1e-12)
    shapes = (3.0 - differences + np.sqrt((differences - 3.0) ** 2 + 24.0 * differences)) / (12.0 * differences)
    for _ in range(SHAPE_NEWTON_STEPS):
        slope = 1.0 / shapes - polygamma(1, shapes)
        shapes = 1.0 / (1.0 / shapes + (np.log(shapes) - digamma(shapes) - differences) / (shapes**2 * slope))
    return shapes


@njit(cache=True)
def _moments(pages, known, quiet, starts, gaps, rates, means, logs):  # type: ignore[no-untyped-def]
    heights = np.empty(INTEGRATION_NODES)
    for number, page in enumerate(pages):
        own = gaps[starts[page] : starts[page + 1]]
        low, high = _ends(known[page], quiet[page], own, rates[page])
        step = (high - low) / (INTEGRATION_NODES - 1)
        for node in range(INTEGRATION_NODES):
            heights[node] = _height(low + node * step, known[page], quiet[page], own)
        peak, total, mean, middle = heights.max(), 0.0, 0.0, 0.0
        for node in range(INTEGRATION_NODES):
            weight, power = exp(heights[node] - peak), low + node * step
            total += weight
            mean += weight * exp(power)
            middle += weight * power
        means[number], logs[number] = mean / total, middle / total


@njit(cache=True)
def _ends(known, quiet, gaps, rate):  # type: ignore[no-untyped-def]
    """Return the logarithms of rates between which nearly all of the posterior lies.

    Below the rate of one change in the longest gap, each gap lowers the density.
    """
    most = known + len(gaps)
    below = min(log(rate), -log(gaps.max())) - NEGLIGIBLE_LOG_DENSITY / most - 3.0 / sqrt(most)
    return max(below, log(rate) - NEGLIGIBLE_LOG_DENSITY / known - 3.0), log(
        (most + 6.0 * sqrt(most) + NEGLIGIBLE_LOG_DENSITY) / quiet
    )


@njit(cache=True)
def _height(power, known, quiet, gaps):  # type: ignore[no-untyped-def]
    """Return the log density at the logarithm *power* of a rate, with a uniform measure on logarithms."""
    rate = exp(power)
    height, product = known * power - rate * quiet, 1.0
    for gap in gaps:
        if rate * gap < CERTAIN_CHANGES:
            product *= -expm1(-rate * gap)
        if product < LEAST_PRODUCT:
            height += log(max(product, 1e-300))
            product = 1.0
    return height + log(product)
