"""How fresh a page is whose rate is not quite known.

What is believed of a rate is a Gamma distribution, as if *shape* changes had been seen in *scale* seconds. The chance
that nothing changed for t seconds is then (1 + t/scale)^−shape: for many changes it is e^(−λt), for few it falls more
slowly, for the page may be one that hardly ever changes. A shape of zero is a page that never changes, a scale of zero
one that always does.
"""

from __future__ import annotations

from math import exp, expm1, log1p

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats

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
