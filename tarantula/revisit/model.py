"""Freshness of a page that changes as a Poisson process and is visited at even intervals.

*changes* is the expected number of changes in the horizon, λT. Freshness is the share of the horizon in which the
collected copy equals the page on the server.

The inverse is here as well: the gap u = λt in which one more visit is worth a share c, from 1 − (1 + u)e^(−u) = c.
"""

from __future__ import annotations

from enum import StrEnum
from math import expm1, inf, sqrt

import numpy as np
from numba import njit, vectorize
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CHANGES_IN_GAP = 60.0
"""Largest gap of the table, in changes; longer gaps gain nothing more."""
_GAPS = np.linspace(0.0, MOST_CHANGES_IN_GAP, 600_001)
# Near 0, 1 − (1 + u)e^(−u) is u²/2: with its root the table is evenly spaced.
_ROOTS = np.sqrt(np.maximum(1.0 - (1.0 + _GAPS) * np.exp(-_GAPS), 0.0))
GAP_TABLE = np.interp(np.linspace(0.0, 1.0, 16_385), _ROOTS, _GAPS)
GAP_TABLE[-1] = MOST_CHANGES_IN_GAP
SERIES_BELOW_SHARE = 1e-4
"""Below this share the first terms of a series are more exact than the table."""
NO_INTERPOLATION_ABOVE_SHARE = 0.96
"""Above this share the table is too curved for interpolation."""


class ModelReading(StrEnum):
    """Assumption about the time before the horizon; it changes the ranking of policies."""

    FRESH = "fresh"
    """All pages are fresh at the start: x visits leave x + 1 gaps."""
    STEADY = "steady"
    """The horizon repeats: x visits leave x gaps, and a page without visits is never fresh."""


@njit(cache=True)
def gap_freshness(changes: float) -> float:
    """Return the mean freshness over a gap with *changes* expected changes."""
    if changes <= 0.0:
        return 1.0
    return -expm1(-changes) / changes if changes != inf else 0.0


@njit(cache=True)
def even_freshness(visits: int, changes: float, steady: bool) -> float:
    """Return the freshness of a page with even visits, the optimum for this number of visits."""
    gaps = visits if steady else visits + 1
    return gap_freshness(changes / gaps) if gaps else 0.0


@njit(cache=True)
def visit_gain(visits: int, changes: float, steady: bool) -> float:
    """Return the freshness gained by one more evenly spaced visit."""
    return even_freshness(visits + 1, changes, steady) - even_freshness(visits, changes, steady)


@vectorize(cache=True)  # type: ignore[no-untyped-call]
def _evenly(visits, changes, steady):  # type: ignore[no-untyped-def]
    return even_freshness(visits, changes, steady)


def even_freshness_of_pages(visits: Ints, changes: Floats, reading: ModelReading) -> Floats:
    """Return the freshness of pages with even visits."""
    fresh: Floats = _evenly(visits, changes, reading is ModelReading.STEADY)
    return fresh


def weighted_mean(fresh: Floats, weights: Floats) -> float:
    """Return the mean freshness of pages by weight."""
    return float(fresh @ weights / weights.sum())


@njit(cache=True)
def bracketing_gaps(share):  # type: ignore[no-untyped-def]
    """Return two adjacent table entries between which the gap worth *share* lies."""
    place = int(sqrt(share) * (len(GAP_TABLE) - 1))
    return GAP_TABLE[place], GAP_TABLE[min(place + 1, len(GAP_TABLE) - 1)]


@njit(cache=True)
def gap_worth(share):  # type: ignore[no-untyped-def]
    """Return the gap, in changes, whose visit is worth a share of the maximum; rounded down rather than up."""
    if share <= 0.0:
        return 0.0
    if share >= 1.0:
        return np.inf
    if share < SERIES_BELOW_SHARE:
        root = sqrt(2.0 * share)
        return root + root**2 / 3 + 11 / 72 * root**3
    low, high = bracketing_gaps(share)
    if share > NO_INTERPOLATION_ABOVE_SHARE:
        return low
    place = sqrt(share) * (len(GAP_TABLE) - 1)
    return (low + (place - int(place)) * (high - low)) * (1.0 - 1e-6)
