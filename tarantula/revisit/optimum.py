"""Optimal visit frequencies in the steady state when visits need not be whole numbers: a bound on policies of even
visits.

A page with rate λ and weight w that is visited f times a second is fresh for (f/λ)(1 − e^(−λ/f)). At the optimum all
pages with the same price μ of a visit have the same marginal gain: with u = λ/f and c = μλ/w, 1 − (1 + u)e^(−u) = c.
One price holds for all servers below their limit; those at their limit have a higher price each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from tarantula.revisit.model import Floats
from tarantula.revisit.pages import Pages, VisitLimits

BISECTION_STEPS = 200
"""Most bisection steps for a price."""
PRICE_TOLERANCE = 1e-12
"""Relative tolerance of a price."""


class OptimalFrequencies(NamedTuple):
    """Optimal frequencies and the marginal worth of a visit."""

    frequencies: Floats
    """Visits a second to each page."""
    prices: Floats
    """Price of a visit to each server, in freshness times seconds."""


def optimal_frequencies(pages: Pages, limits: VisitLimits) -> OptimalFrequencies:
    """Return the optimal visit frequencies in the steady state, under the limits of each server and of all."""
    of_server = np.full(len(pages.starts) - 1, 1.0 / limits.politeness)
    server_prices = _prices(pages, of_server)
    total = limits.visits / limits.horizon

    def demand(price: float) -> float:
        return float(_frequencies(pages, np.maximum(server_prices, price)[pages.servers]).sum())

    low, high = 0.0, _prohibitive_price(pages)
    if demand(0.0) > total:
        for _ in range(BISECTION_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if demand(middle) > total else (low, middle)
            if high - low <= PRICE_TOLERANCE * high:
                break
    prices = np.maximum(server_prices, high if demand(0.0) > total else 0.0)
    return OptimalFrequencies(_frequencies(pages, prices[pages.servers]), prices)


def steady_freshness(pages: Pages, frequencies: Floats) -> Floats:
    """Return the freshness of pages with even visits of these frequencies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = pages.rates / frequencies
        fresh = -np.expm1(-changes) / changes
    fresh = np.where(frequencies > 0, np.where(pages.rates > 0, fresh, 1.0), 0.0)
    return np.where(np.isfinite(fresh), fresh, 0.0)


def _prices(pages: Pages, limits: Floats) -> Floats:
    """Return the price at which the demand for each server equals its limit; 0 for a server without demand."""
    low, high = np.zeros(len(limits)), np.full(len(limits), _prohibitive_price(pages))
    # At price 0 the demand would be infinite.
    has_demand = np.bincount(pages.servers[_can_gain(pages)], minlength=len(limits)) > 0
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        above = _demands(pages, middle) > limits
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        if np.all(high - low <= PRICE_TOLERANCE * high):
            break
    return np.where(has_demand, high, 0.0)


def _demands(pages: Pages, prices: Floats) -> Floats:
    frequencies = _frequencies(pages, prices[pages.servers])
    return np.bincount(pages.servers, weights=frequencies, minlength=len(prices)).astype(np.float64)


def _prohibitive_price(pages: Pages) -> float:
    """Return a price at which no page demands a visit."""
    changing = pages.rates > 0
    worth = pages.weights[changing] / pages.rates[changing]
    return float(worth.max(initial=0.0)) or 1.0


def _frequencies(pages: Pages, prices: Floats) -> Floats:
    """Return the optimal frequency of each page at its price: f = λ/u, u = −1 − W₋₁(−(1 − c)/e)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = prices * pages.rates / pages.weights
        u = -1.0 - lambertw(-(1.0 - cost) / np.e, k=-1).real
        frequency = pages.rates / u
    return np.where(_can_gain(pages) & (cost < 1.0), frequency, 0.0)


def _can_gain(pages: Pages) -> NDArray[np.bool_]:
    """Return which pages can gain from visits: they change, but not all the time, and have a weight."""
    return (pages.rates > 0) & np.isfinite(pages.rates) & (pages.weights > 0)
