"""Gamma distribution of an uncertain change rate: expected freshness, and the fit to observed changes.

An uncertain rate has a Gamma distribution, as if *shape* changes had been seen in *scale* seconds. The probability of
no change in t seconds is then (1 + t/scale)^−shape: e^(−λt) for a large shape; for a small one it falls more slowly,
since the page may be one that hardly ever changes. A shape of zero is a page that never changes, a scale of zero one
that always does.

After visits that found no change the posterior is a Gamma distribution. A visit that found a change at an unknown time
of its gap t multiplies it by 1 − e^(−λt), and it is one no longer. The nearest Gamma distribution by Kullback-Leibler
divergence is used instead: it has the same mean and the same mean logarithm.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

import numpy as np
from numba import njit
from scipy.special import digamma, polygamma

from tarantula.revisit.model import Floats, Ints

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
