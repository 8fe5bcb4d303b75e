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


@njit(cache=True)
def unchanged_probability(seconds: float, shape: float, scale: float) -> float:
    """Return the chance that nothing changed for so long."""
    if seconds <= 0.0 or shape <= 0.0:
        return 1.0
    return exp(-shape * log1p(seconds / scale)) if scale > 0.0 else 0.0


@njit(cache=True)
def gamma_fresh_seconds(seconds: float, shape: float, scale: float) -> float:
    """Return for how long of so many seconds after a visit a page is fresh."""
    if seconds <= 0.0 or shape <= 0.0:
        return max(seconds, 0.0)
    if scale <= 0.0:
        return 0.0
    length = log1p(seconds / scale)
    power = (shape - 1.0) * length
    # Between shapes of less and of more than one the integral is a logarithm.
    return scale * length * (-expm1(-power) / power if abs(power) > SMALL_POWER else 1.0)


@njit(cache=True)
def gamma_fresh_seconds_after(age: float, seconds: float, shape: float, scale: float) -> float:
    """Return for how long of so many seconds a page is fresh that was last visited *age* seconds before them."""
    return unchanged_probability(age, shape, scale) * gamma_fresh_seconds(seconds, shape, scale + age)


@njit(cache=True)
def gamma_visit_index(seconds: float, shape: float, scale: float) -> float:
    """Return what a visit so long after the last is worth, in fresh seconds, if all that follow come as late.

    By visiting after g seconds, again and again at a price for each visit, most is won where the price is what a page
    was fresh for, less g times the chance that it still is. For a known rate that is (1 − (1 + u)e^(−u))/λ, u = λg.
    """
    return gamma_fresh_seconds(seconds, shape, scale) - seconds * unchanged_probability(seconds, shape, scale)


def change_probabilities(seconds: Floats, shapes: Floats, scales: Floats) -> Floats:
    """Return the chances that pages changed at least once in so long."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changed = -np.expm1(-shapes * np.log1p(seconds / scales))
    changed = np.where(scales > 0.0, changed, 1.0)
    return np.where((seconds > 0.0) & (shapes > 0.0), changed, 0.0)


INTEGRATION_NODES = 64
"""At which a distribution is looked at."""
SHAPE_NEWTON_STEPS = 5
"""Of Newton's way to a shape."""
NEGLIGIBLE_LOG_DENSITY = 12.0
"""Powers of e; what is less likely by so much does not count."""
LEAST_PRODUCT = 1e-200
CERTAIN_CHANGES = 40.0
"""Changes in a gap; that there was one is certain."""


def nearest_gamma(known: Floats, quiet: Floats, starts: Ints, gaps: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Return as how many changes in how many seconds all that is known of each page counts.

    *known* changes came in *quiet* seconds, and at least one in each of the *gaps* of a page, which begin at its
    *start*; its most likely rate is near the middle.
    """
    shapes, scales = known.copy(), quiet.copy()
    some = np.flatnonzero((np.diff(starts) > 0) & (known > 0) & (quiet > 0))
    means, logs = np.empty(len(some)), np.empty(len(some))
    _look(some, known, quiet, starts, gaps, rates, means, logs)
    shapes[some] = _shapes(np.log(means) - logs)
    scales[some] = shapes[some] / means
    return shapes, scales


def _shapes(differences: Floats) -> Floats:
    """Return the shapes of which ln(shape) − ψ(shape) is the logarithm of the mean less the mean logarithm."""
    differences = np.maximum(differences, 1e-12)
    shapes = (3.0 - differences + np.sqrt((differences - 3.0) ** 2 + 24.0 * differences)) / (12.0 * differences)
    for _ in range(SHAPE_NEWTON_STEPS):
        slope = 1.0 / shapes - polygamma(1, shapes)
        shapes = 1.0 / (1.0 / shapes + (np.log(shapes) - digamma(shapes) - differences) / (shapes**2 * slope))
    return shapes


@njit(cache=True)
def _look(pages, known, quiet, starts, gaps, rates, means, logs):  # type: ignore[no-untyped-def]
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
    """Return the logarithms of rates between which nearly all lies.

    Where not even the longest gap is likely to have a change, each of them makes a rate the less likely.
    """
    most = known + len(gaps)
    below = min(log(rate), -log(gaps.max())) - NEGLIGIBLE_LOG_DENSITY / most - 3.0 / sqrt(most)
    return max(below, log(rate) - NEGLIGIBLE_LOG_DENSITY / known - 3.0), log(
        (most + 6.0 * sqrt(most) + NEGLIGIBLE_LOG_DENSITY) / quiet
    )


@njit(cache=True)
def _height(power, known, quiet, gaps):  # type: ignore[no-untyped-def]
    """Return the logarithm of how likely e to the *power* is, among rates that are even in their logarithm."""
    rate = exp(power)
    height, product = known * power - rate * quiet, 1.0
    for gap in gaps:
        if rate * gap < CERTAIN_CHANGES:
            product *= -expm1(-rate * gap)
        if product < LEAST_PRODUCT:
            height += log(max(product, 1e-300))
            product = 1.0
    return height + log(product)
