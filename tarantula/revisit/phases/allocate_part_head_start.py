"""Visits that are surely among the best, so that only the others are compared one by one.

At a price each page has the visits that are worth more. The price is guessed from some pages of each server; what is
taken at it is counted exactly: where the guess was wrong there is more to compare, or it is made again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, visit_gain
from tarantula.revisit.model_part_inverse import bracketing_gaps

SAMPLED_PAGES = 256
"""Pages of a server that its price is guessed from; many more if there are few servers."""
BISECTION_STEPS = 30
PRICE_TOLERANCE_FACTOR = 1.03
"""How far the guess of a price may be from the truth."""
LEAST_RELIABLE_GAIN = 1e-9
"""Of visits that add less it is not sure that the next adds less still: their difference is lost in rounding."""


class HeadStart(NamedTuple):
    """Where to begin."""

    visits: Ints
    """Of each page: no more than the best."""
    dear: float
    """They are all worth more than that."""
    cheap: float
    """A visit that is worth less is not among the best."""


def head_start(starts: Ints, changes: Floats, weights: Floats, budgets: Ints, most: int, steady: bool) -> HeadStart:
    """Return visits that are among the best of each server, and of all if the guess is good."""
    sample = max(SAMPLED_PAGES, 100_000 // max(len(budgets), 1))
    own = _prices(starts, changes, weights, budgets, sample, steady)
    price = _price(starts, changes, weights, budgets, most, own, sample, steady)
    visits = np.zeros(len(changes), dtype=np.int64)
    _take(starts, changes, weights, budgets, np.maximum(own, price) * PRICE_TOLERANCE_FACTOR, steady, visits)
    return HeadStart(visits, price * PRICE_TOLERANCE_FACTOR, price / PRICE_TOLERANCE_FACTOR)


@njit(cache=True)
def _count(price, changes, weight, steady):  # type: ignore[no-untyped-def]
    """Return about how many visits are worth more than a price."""
    if not (0.0 < changes < np.inf and weight > 0.0 and price > 0.0):
        return 0.0
    share = price * changes / weight
    if share >= 1.0:
        return 0.0
    low, high = bracketing_gaps(share)
    return max(0.0, 2.0 * changes / (low + high) + (0.5 if steady else -0.5))


@njit(cache=True)
def _asked(price, first, last, changes, weights, sample, steady):  # type: ignore[no-untyped-def]
    """Return about how many visits to a server are worth more than a price."""
    stride = max(1, (last - first) // sample)
    total, seen = 0.0, 0
    for page in range(first, last, stride):
        total += np.floor(_count(price, changes[page], weights[page], steady))
        seen += 1
    return total * (last - first) / max(seen, 1)


@njit(cache=True, parallel=True)
def _prices(starts, changes, weights, budgets, sample, steady):  # type: ignore[no-untyped-def]
    """Return the price at which each server is asked about as often as it may be; none where that is never."""
    prices = np.zeros(len(budgets))
    for server in prange(len(budgets)):
        first, last = starts[server], starts[server + 1]
        low, high = 0.0, 0.0
        for page in range(first, last):
            if 0.0 < changes[page] < np.inf:
                high = max(high, weights[page] / changes[page])
        low = high * 1e-12
        for _ in range(BISECTION_STEPS):
            middle = np.sqrt(low * high)
            if _asked(middle, first, last, changes, weights, sample, steady) > budgets[server]:
                low = middle
            else:
                high = middle
        prices[server] = high
    return prices


@njit(cache=True)
def _price(starts, changes, weights, budgets, most, own, sample, steady):  # type: ignore[no-untyped-def]
    """Return the price at which all servers together are asked about as often as they may be, or none."""
    low, high = 0.0, 0.0
    for server in range(len(budgets)):
        high = max(high, own[server])
    if budgets.sum() <= most or high == 0.0:
        return 0.0
    low = high * 1e-12
    for _ in range(BISECTION_STEPS):
        middle, total = np.sqrt(low * high), 0.0
        for server in range(len(budgets)):
            price = max(middle, own[server])
            if price == own[server] and price > 0.0:
                total += budgets[server]
            else:
                total += _asked(price, starts[server], starts[server + 1], changes, weights, sample, steady)
        if total > most:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True, parallel=True)
def _take(starts, changes, weights, budgets, prices, steady, visits):  # type: ignore[no-untyped-def]
    """Write down for each page the visits that are worth more than its server's price.

    They are what taking the best again and again comes to, unless they are too many: then the price was too low.
    """
    for server in prange(len(budgets)):
        price = prices[server]
        for _ in range(BISECTION_STEPS):
            total = 0
            for page in range(starts[server], starts[server + 1]):
                visits[page] = _exact_count(price, changes[page], weights[page], steady, budgets[server])
                total += visits[page]
            if total <= budgets[server]:
                break
            visits[starts[server] : starts[server + 1]] = 0
            price *= PRICE_TOLERANCE_FACTOR


@njit(cache=True)
def _exact_count(price, changes, weight, steady, most):  # type: ignore[no-untyped-def]
    """Return which visit to a page is the first that is not worth more than a price; no matter which after *most*."""
    count = int(min(max(_count(price, changes, weight, steady) - 1.0, 0.0), most))
    if count > 0:
        least = visit_gain(count - 1, changes, steady)
        count = count if least > LEAST_RELIABLE_GAIN and weight * least > price else 0
    while count <= most and weight * visit_gain(count, changes, steady) > price:
        count += 1
    return count
