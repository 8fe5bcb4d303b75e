"""How fresh a page is that changes at random times, and is visited now and then.

Changes are a Poisson process; *changes* is how many are expected in the horizon, λT. Freshness is the share of the
horizon in which what was collected is what the server has.
"""

from __future__ import annotations

from enum import StrEnum
from math import expm1, inf

import numpy as np
from numba import njit, vectorize
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ModelReading(StrEnum):
    """What is supposed of the time before the horizon; policies rank differently by it."""

    FRESH = "fresh"
    """Every page is fresh at the beginning: x visits leave x + 1 gaps."""
    STEADY = "steady"
    """The horizon comes again and again: x visits leave x gaps, and a page that is never visited is never fresh."""


@njit(cache=True)
def gap_freshness(changes: float) -> float:
    """Return the mean freshness of a gap in which so many changes are expected."""
    if changes <= 0.0:
        return 1.0
    return -expm1(-changes) / changes if changes != inf else 0.0


@njit(cache=True)
def even_freshness(visits: int, changes: float, steady: bool) -> float:
    """Return the freshness of a page that is visited at even intervals: the best that so many visits can do."""
    gaps = visits if steady else visits + 1
    return gap_freshness(changes / gaps) if gaps else 0.0


@njit(cache=True)
def visit_gain(visits: int, changes: float, steady: bool) -> float:
    """Return what one visit more than *visits* adds."""
    return even_freshness(visits + 1, changes, steady) - even_freshness(visits, changes, steady)


@vectorize(cache=True)  # type: ignore[no-untyped-call]
def _evenly(visits, changes, steady):  # type: ignore[no-untyped-def]
    return even_freshness(visits, changes, steady)


def even_freshness_of_pages(visits: Ints, changes: Floats, reading: ModelReading) -> Floats:
    """Return how fresh pages are that are visited at even intervals."""
    fresh: Floats = _evenly(visits, changes, reading is ModelReading.STEADY)
    return fresh


def weighted_mean(fresh: Floats, weights: Floats) -> float:
    """Return the mean freshness of pages, by their weights."""
    return float(fresh @ weights / weights.sum())
